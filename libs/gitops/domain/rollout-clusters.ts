import type { Rollout, Assignment } from '@fairlead/contracts';

/** `silent`: nobody knows. `gone`: it is none of the rollout's clusters any more. */
export type Verdict = 'progressing' | 'healthy' | 'failed' | 'silent' | 'gone';

/**
 * One cluster in a rollout. `deferred`: silent when its turn came. `unjudged`: it has the new spec, and nobody waits for it. The rest
 * as they say.
 */
export interface ClusterProgress {
  readonly step:
    | 'waiting'
    | 'deferred'
    | 'updating'
    | 'healthy'
    | 'failed'
    | 'unjudged'
    | 'gone'
    | 'reverting'
    | 'reverted';
  /** Since it was given what it has. */
  readonly sinceMs: number | null;
  readonly hasFormer: boolean;
  /** It had failed before it was given back what it had. */
  readonly failed?: boolean;
}

/**
 * What a look at a cluster makes of it. One that was healthy and is not any more has all its time to become so again: it may be
 * given something else that the rollout has nothing to do with. One that was healthy and went away says nothing against it.
 */
export function judge(progress: ClusterProgress, verdict: Verdict, nowMs: number, timeoutMs: number): ClusterProgress {
  const { step, sinceMs } = progress;
  if (step === 'gone' || step === 'reverting' || step === 'reverted') return progress;
  if (verdict === 'gone') return { ...progress, step: 'gone' };
  if (step !== 'updating' && step !== 'healthy' && step !== 'failed') return progress;
  if (verdict === 'healthy' || verdict === 'failed') return { ...progress, step: verdict };
  if (step === 'failed' || (step === 'healthy' && verdict === 'silent')) return progress;
  if (step === 'healthy') return { ...progress, step: 'updating', sinceMs: nowMs };
  return { ...progress, step: nowMs - (sinceMs ?? nowMs) >= timeoutMs ? 'failed' : 'updating' };
}

export function counted(
  clusters: Readonly<Record<string, ClusterProgress>>,
  ids: readonly string[],
  step: ClusterProgress['step'],
): number {
  return ids.filter((id) => clusters[id]?.step === step).length;
}

/** As people see a wave. */
export function showWave(
  clusters: Readonly<Record<string, ClusterProgress>>,
  ids: readonly string[],
): Rollout['waves'][number] {
  const count = { clusters: 0, healthy: 0, failed: 0, waiting: 0 };
  for (const id of ids) {
    const progress = clusters[id];
    if (!progress || progress.step === 'gone') continue;
    count.clusters += 1;
    if (progress.step === 'failed' || progress.failed === true) count.failed += 1;
    else if (progress.step === 'healthy' || progress.step === 'reverted') count.healthy += 1;
    else count.waiting += 1;
  }
  return count;
}

/** Clusters in waves of these sizes, and the rest in a last one; in their order, those that nobody hears of at the end. */
export function planWaves(
  sizes: Assignment['rollout']['waves'],
  clusters: readonly { readonly id: string; readonly silent: boolean }[],
): string[][] {
  const ordered = [...clusters.filter(({ silent }) => !silent), ...clusters.filter(({ silent }) => silent)];
  const waves: string[][] = [];
  let at = 0;
  for (const size of [...sizes, '100%']) {
    const count = typeof size === 'number' ? size : Math.ceil((clusters.length * Number.parseInt(size, 10)) / 100);
    const wave = ordered.slice(at, at + count).map(({ id }) => id);
    if (wave.length > 0) waves.push(wave);
    at += count;
  }
  return waves;
}
