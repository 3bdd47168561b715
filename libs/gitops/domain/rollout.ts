import type { Rollout } from '@fairlead/contracts';
import { assertNever } from '@fairlead/errors';
import { counted, judge, type ClusterProgress, type Verdict } from './rollout-clusters.js';

/** How a rollout goes; times in milliseconds. */
export interface RolloutPlan {
  readonly soakMs: number;
  readonly timeoutMs: number;
  readonly maxFailed: number;
  readonly onFailure: 'pause' | 'roll-back';
}

export interface RolloutState {
  readonly state: Rollout['state'];
  /** The one that is under way, from 0. */
  readonly wave: number;
  readonly waves: readonly (readonly string[])[];
  readonly clusters: Readonly<Record<string, ClusterProgress>>;
  /** Since when all of the wave are healthy. */
  readonly soakSinceMs: number | null;
  readonly reason: string | null;
}

export interface RolloutObservation {
  readonly breakerOpen: boolean;
  /** As to what the rollout gave the cluster, or gave back to it. */
  readonly verdict: (clusterId: string) => Verdict;
}

export type RolloutAction =
  /** Give them the new spec. */
  | { readonly kind: 'apply'; readonly clusters: readonly string[] }
  /** Give them what they had. */
  | { readonly kind: 'revert'; readonly clusters: readonly string[] }
  /** All have it: from now on it is what the assignment means. */
  | { readonly kind: 'finish' }
  /** All have what they had: so has the assignment. */
  | { readonly kind: 'restore' };

export interface RolloutStep {
  readonly state: RolloutState;
  readonly actions: readonly RolloutAction[];
}

const ENDED: ReadonlySet<Rollout['state']> = new Set(['done', 'rolled-back', 'aborted']);

export function hasEnded({ state }: Pick<RolloutState, 'state'>): boolean {
  return ENDED.has(state);
}

/** A rollout before its first step. `hasFormer`: there is something that the cluster can go back to. */
export function beginRollout(
  waves: readonly (readonly string[])[],
  hasFormer: (clusterId: string) => boolean,
): RolloutState {
  const clusters = waves
    .flat()
    .map((id): [string, ClusterProgress] => [id, { step: 'waiting', sinceMs: null, hasFormer: hasFormer(id) }]);
  return { state: 'running', wave: 0, waves, clusters: Object.fromEntries(clusters), soakSinceMs: null, reason: null };
}

/** One look at the clusters. Nothing happens in a rollout that ended. */
export function stepRollout(
  state: RolloutState,
  observation: RolloutObservation,
  nowMs: number,
  plan: RolloutPlan,
): RolloutStep {
  switch (state.state) {
    case 'running':
      return run(watch(state, observation, nowMs, plan), observation, nowMs, plan);
    case 'paused':
      return { state: watch(state, observation, nowMs, plan), actions: [] };
    case 'held-by-breaker':
      if (observation.breakerOpen) return { state: watch(state, observation, nowMs, plan), actions: [] };
      return { state: goOn(state, nowMs), actions: [] };
    case 'rolling-back':
      return rollBack(state, observation, nowMs, plan);
    case 'done':
    case 'rolled-back':
    case 'aborted':
      return { state, actions: [] };
    default:
      return assertNever(state.state);
  }
}

/** What somebody wants of it; null: it cannot be done in this state. */
export function steerRollout(
  state: RolloutState,
  step: 'pause' | 'resume' | 'abort' | 'roll-back',
  reason: string,
  nowMs: number,
): RolloutStep | null {
  const goes = state.state === 'running' || state.state === 'held-by-breaker';
  switch (step) {
    case 'pause':
      return goes ? { state: { ...state, state: 'paused', reason }, actions: [] } : null;
    case 'resume':
      return state.state === 'paused' ? { state: goOn(state, nowMs), actions: [] } : null;
    case 'abort':
      return hasEnded(state) ? null : { state: { ...state, state: 'aborted', reason }, actions: [] };
    case 'roll-back':
      return goes || state.state === 'paused' ? turnBack(state, reason, nowMs, 'aborted') : null;
    default:
      return assertNever(step);
  }
}

/** Takes down how the clusters are that have the new spec. */
function watch(
  state: RolloutState,
  { verdict }: RolloutObservation,
  nowMs: number,
  { timeoutMs }: RolloutPlan,
): RolloutState {
  const limit = state.state === 'running' ? timeoutMs : Number.POSITIVE_INFINITY;
  const clusters = Object.fromEntries(
    Object.entries(state.clusters).map(([id, progress]) => [id, judge(progress, verdict(id), nowMs, limit)]),
  );
  return { ...state, clusters };
}

function run(state: RolloutState, observation: RolloutObservation, nowMs: number, plan: RolloutPlan): RolloutStep {
  if (observation.breakerOpen) {
    return { state: { ...state, state: 'held-by-breaker', reason: 'the breaker of the fleet is open' }, actions: [] };
  }
  const failing = state.waves.findIndex((wave) => counted(state.clusters, wave, 'failed') > plan.maxFailed);
  if (failing !== -1) return fail(state, failing, nowMs, plan);
  const wave = state.waves[state.wave];
  if (!wave) return { state: { ...state, state: 'done' }, actions: [{ kind: 'finish' }] };
  if (wave.some((id) => state.clusters[id]?.step === 'waiting')) return startWave(state, wave, observation, nowMs);
  return soak(state, wave, nowMs, plan);
}

/** Clusters that nobody hears of get it with the last wave, and are not judged: they say nothing about the new spec. */
function startWave(
  state: RolloutState,
  wave: readonly string[],
  { verdict }: RolloutObservation,
  nowMs: number,
): RolloutStep {
  const last = state.wave === state.waves.length - 1;
  const clusters = { ...state.clusters };
  const given: string[] = [];
  const give = (id: string, step: ClusterProgress['step']): void => {
    clusters[id] = { ...(clusters[id] as ClusterProgress), step, sinceMs: nowMs };
    if (step !== 'deferred') given.push(id);
  };
  for (const id of wave) {
    if (clusters[id]?.step !== 'waiting') continue;
    if (verdict(id) !== 'silent') give(id, 'updating');
    else give(id, last ? 'unjudged' : 'deferred');
  }
  if (last) for (const [id, { step }] of Object.entries(clusters)) if (step === 'deferred') give(id, 'unjudged');
  const actions: RolloutAction[] = given.length > 0 ? [{ kind: 'apply', clusters: given }] : [];
  return { state: { ...state, clusters, soakSinceMs: null }, actions };
}

/** Waits until the wave has been good for long enough. */
function soak(state: RolloutState, wave: readonly string[], nowMs: number, { soakMs }: RolloutPlan): RolloutStep {
  if (counted(state.clusters, wave, 'updating') > 0) return { state: { ...state, soakSinceMs: null }, actions: [] };
  const soakSinceMs = state.soakSinceMs ?? nowMs;
  const judged = counted(state.clusters, wave, 'healthy') + counted(state.clusters, wave, 'failed');
  if (judged > 0 && nowMs - soakSinceMs < soakMs) return { state: { ...state, soakSinceMs }, actions: [] };
  return { state: { ...state, wave: state.wave + 1, soakSinceMs: null }, actions: [] };
}

function fail(state: RolloutState, wave: number, nowMs: number, { onFailure }: RolloutPlan): RolloutStep {
  const failed = counted(state.clusters, state.waves[wave] ?? [], 'failed');
  const reason = `${failed} ${failed === 1 ? 'cluster' : 'clusters'} of wave ${wave + 1} failed`;
  if (onFailure === 'pause') return { state: { ...state, state: 'paused', reason }, actions: [] };
  return turnBack(state, reason, nowMs, 'paused');
}

/** Gives back what there was to all that have the new spec; those that had nothing keep it. */
function turnBack(state: RolloutState, reason: string, nowMs: number, ifNothing: 'paused' | 'aborted'): RolloutStep {
  const back = Object.entries(state.clusters).filter(([, { step, hasFormer }]) => hasFormer && hasNew(step));
  if (back.length === 0 && Object.values(state.clusters).some(({ step }) => hasNew(step))) {
    const why = `${reason}; there is nothing to go back to`;
    return { state: { ...state, state: ifNothing, reason: why }, actions: [] };
  }
  const reverting = back.map(([id, progress]): [string, ClusterProgress] => [
    id,
    { ...progress, step: 'reverting', sinceMs: nowMs, failed: progress.step === 'failed' },
  ]);
  const clusters = { ...state.clusters, ...Object.fromEntries(reverting) };
  const actions: RolloutAction[] = back.length > 0 ? [{ kind: 'revert', clusters: back.map(([id]) => id) }] : [];
  return { state: { ...state, state: 'rolling-back', clusters, soakSinceMs: null, reason }, actions };
}

function rollBack(state: RolloutState, { verdict }: RolloutObservation, nowMs: number, plan: RolloutPlan): RolloutStep {
  const clusters = { ...state.clusters };
  for (const [id, progress] of Object.entries(clusters)) {
    if (progress.step !== 'reverting') continue;
    const late = nowMs - (progress.sinceMs ?? nowMs) >= plan.timeoutMs;
    if (late || ['healthy', 'gone'].includes(verdict(id))) clusters[id] = { ...progress, step: 'reverted' };
  }
  if (Object.values(clusters).some(({ step }) => step === 'reverting'))
    return { state: { ...state, clusters }, actions: [] };
  return { state: { ...state, clusters, state: 'rolled-back' }, actions: [{ kind: 'restore' }] };
}

/** With all the time that clusters had at first. */
function goOn(state: RolloutState, nowMs: number): RolloutState {
  const clusters = Object.fromEntries(
    Object.entries(state.clusters).map(([id, progress]): [string, ClusterProgress] => {
      const again = progress.step === 'failed' || progress.step === 'updating';
      return [id, again ? { ...progress, step: 'updating', sinceMs: nowMs } : progress];
    }),
  );
  return { ...state, state: 'running', clusters, soakSinceMs: null, reason: null };
}

function hasNew(step: ClusterProgress['step']): boolean {
  return step === 'updating' || step === 'healthy' || step === 'failed' || step === 'unjudged';
}
