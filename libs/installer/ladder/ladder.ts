import { fullJitterMs } from '@fairlead/clock';
import type {
  Finding,
  LadderAction,
  LadderLimits,
  LadderState,
  LadderStatus,
  Observation,
  Rung,
} from './ladder-state.js';

type Layer = Finding['layer'];

const HOUR_MS = 3_600_000;
const ORDER: readonly Rung[] = ['apply', 'restart', 'recreate', 'roll-back', 'escalate'];

export interface LadderStep {
  readonly state: LadderState;
  /** What to do now, if anything. */
  readonly action: LadderAction | null;
}

/**
 * One step of the repair of a tool (docs/adr/0028-the-ladder-of-repairs.md): observe → apply → restart pods → recreate → last good
 * bundle → escalate. Pure: the caller looks, acts, and keeps the state. It never acts on a finding where repairs are not desired, and
 * never more often than the budget of the hour.
 */
export function step(
  before: LadderState,
  seen: Observation,
  nowMs: number,
  limits: LadderLimits,
  random: () => number = Math.random,
): LadderStep {
  const state = remembered(before, seen, nowMs);
  if (!seen.applied) return install(state, seen, nowMs, limits, random);
  if (!seen.finding) return { state: rested(state, 'healthy'), action: null };
  if (seen.selfHeal !== 'enforce' || seen.holdRepairs) return { state: rested(state, 'degraded'), action: null };
  if (state.spentMs.length >= limits.repairsPerHour) return escalated(state);
  const { layer } = seen.finding;
  if (state.layer !== layer) return step(settling(state, layer, nowMs, limits), seen, nowMs, limits, random);
  if (nowMs < state.notBeforeMs) return { state, action: null };
  // Escalated, and an hour has passed: what was outside may have been put right.
  const rung = state.rung === 'escalate' && state.spentMs.length === 0 ? 'apply' : state.rung;
  const next = possible(rung, seen, state, limits);
  if (next === 'escalate') return escalated(state);
  return acted(state, next, seen, nowMs, limits, random);
}

/** What is still true of what was held: nothing of the rungs, if something else is desired now. */
function remembered(before: LadderState, { wanted }: Observation, nowMs: number): LadderState {
  const spentMs = before.spentMs.filter((atMs) => nowMs - atMs < HOUR_MS && atMs <= nowMs);
  if (before.wanted === wanted) return { ...before, spentMs };
  return { status: 'installing', wanted, rung: 'apply', tries: 0, layer: null, notBeforeMs: 0, spentMs };
}

/** Another layer than before is unwell: it has its time. */
function settling(state: LadderState, layer: Layer, nowMs: number, limits: LadderLimits): LadderState {
  const healthy = state.status === 'healthy' || state.status === 'degraded';
  // What differs is put right at once; pods need their time to start.
  const graceMs = layer === 'objects' ? 0 : limits.settleMs[layer];
  const notBeforeMs = Math.max(state.notBeforeMs, nowMs + graceMs);
  return { ...state, status: healthy ? 'repairing' : state.status, layer, notBeforeMs };
}

function rested(state: LadderState, status: LadderStatus): LadderState {
  return { ...state, status, rung: 'apply', tries: 0, layer: null, notBeforeMs: 0 };
}

/**
 * What is newly desired is applied until it is there as a whole, at the pace of the backoff. It is no repair: no budget, and no mode
 * that forbids it. One that cannot be applied goes back, if there is something to go back to.
 */
function install(
  state: LadderState,
  seen: Observation,
  nowMs: number,
  limits: LadderLimits,
  random: () => number,
): LadderStep {
  if (nowMs < state.notBeforeMs) return { state, action: null };
  const mayRepair = seen.selfHeal === 'enforce' && !seen.holdRepairs && state.spentMs.length < limits.repairsPerHour;
  if (state.tries >= limits.applies && seen.canRollBack && mayRepair && !seen.proven) {
    return acted(state, 'roll-back', seen, nowMs, limits, random);
  }
  const status = state.tries >= limits.applies ? 'escalated' : 'installing';
  const notBeforeMs = nowMs + fullJitterMs(state.tries, limits.backoff, random);
  return {
    state: { ...state, status, rung: 'apply', tries: state.tries + 1, notBeforeMs },
    action: { rung: 'apply', finding: seen.finding },
  };
}

function escalated(state: LadderState): LadderStep {
  return { state: { ...state, status: 'escalated', rung: 'escalate', tries: 0 }, action: null };
}

/** The first rung from this one on that can help with what was found. */
function possible(from: Rung, seen: Observation, { tries }: LadderState, limits: LadderLimits): Rung {
  const rungs = ORDER.slice(ORDER.indexOf(from));
  return rungs.find((rung) => canHelp(rung, seen, rung === from ? tries : 0, limits)) ?? 'escalate';
}

function canHelp(rung: Rung, seen: Observation, tries: number, limits: LadderLimits): boolean {
  const { finding, proven, canRollBack } = seen;
  switch (rung) {
    case 'apply':
      // What is as it was applied is not helped by applying it.
      return finding?.layer === 'objects' && tries < limits.applies;
    case 'restart':
      return (finding?.workloads.length ?? 0) > 0 && tries === 0 && (proven || !canRollBack);
    case 'recreate':
      return tries === 0 && (proven || !canRollBack);
    case 'roll-back':
      return tries === 0 && canRollBack;
    case 'escalate':
      break;
  }
  return true;
}

function acted(
  state: LadderState,
  rung: LadderAction['rung'],
  { finding }: Observation,
  nowMs: number,
  limits: LadderLimits,
  random: () => number,
): LadderStep {
  const tries = rung === state.rung ? state.tries + 1 : 1;
  const settleMs = finding === null ? 0 : limits.settleMs[finding.layer];
  const notBeforeMs = nowMs + settleMs + fullJitterMs(tries, limits.backoff, random);
  return {
    state: { ...state, status: 'repairing', rung, tries, notBeforeMs, spentMs: [...state.spentMs, nowMs] },
    action: { rung, finding },
  };
}
