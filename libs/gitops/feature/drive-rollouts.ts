import { isDeepStrictEqual } from 'node:util';
import { stepRollout, type RolloutPlan } from '../domain/rollout.js';
import type { Verdict } from '../domain/rollout-clusters.js';
import { readBreaker } from '../store/breaker-store.js';
import { lockCatalog } from '../store/locks.js';
import {
  judgedRows,
  lockRollout,
  runningRollouts,
  type JudgedRow,
  type StoredRollout,
} from '../store/rollout-store.js';
import { OneByOne } from './one-by-one.js';
import { takeStep } from './rollouts.js';
import { commit, read, type Runtime } from './runtime.js';

/** Drives each rollout, each apart from the others. */
export class RolloutDriver {
  readonly #each: OneByOne;

  constructor(
    private readonly runtime: Runtime,
    private readonly silenceMs: number,
  ) {
    this.#each = new OneByOne(runtime, 'rollout');
  }

  /** One step of each. True if one of them did something. */
  async reconcileOnce(): Promise<boolean> {
    const rollouts = await read(this.runtime, runningRollouts);
    return this.#each.each(
      rollouts,
      ({ id }) => id,
      ({ id, tenantId }) => this.#drive(tenantId, id),
    );
  }

  #drive(tenantId: string, id: string): Promise<boolean> {
    const runtime = this.runtime;
    return commit(runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const rollout = await lockRollout(manager, tenantId, id);
      if (rollout.endedAt) return false;
      const { progress, spec } = rollout;
      const rows = await judgedRows(manager, Object.keys(progress.clusters));
      const nowMs = runtime.now().getTime();
      const verdicts = new Map(rows.map((row) => [row.id, verdictOf(rollout, row, nowMs - this.silenceMs)]));
      const breakerOpen = (await readBreaker(manager, tenantId)).breaker.state === 'open';
      const verdict = (clusterId: string): Verdict => verdicts.get(clusterId) ?? 'gone';
      const step = stepRollout(progress, { breakerOpen, verdict }, nowMs, planOf(spec.rollout));
      if (step.actions.length === 0 && isDeepStrictEqual(step.state, progress)) return false;
      await takeStep(runtime, manager, rollout, step);
      return true;
    });
  }
}

function planOf(rollout: StoredRollout['spec']['rollout']): RolloutPlan {
  const { soakSeconds, timeoutSeconds, maxFailed, onFailure } = rollout;
  return { soakMs: soakSeconds * 1_000, timeoutMs: timeoutSeconds * 1_000, maxFailed, onFailure };
}

/** As to what the rollout gave it or, when it goes back, to what it had. */
function verdictOf({ assignment, version, progress }: StoredRollout, row: JudgedRow, heardAfterMs: number): Verdict {
  if (row.absent) return 'gone';
  if (!row.reportedAt || row.reportedAt.getTime() < heardAfterMs) return 'silent';
  if (!row.converged) return 'progressing';
  const back = progress.clusters[row.id]?.step === 'reverting';
  if (!back && row.assignment !== assignment) return 'gone';
  const hasNew = row.adoptedName === assignment && row.adoptedVersion === version;
  if (hasNew === back) return 'progressing';
  if (row.phase === 'escalated' && (row.observedRevision ?? 0) >= row.revision) return 'failed';
  if (row.phase !== 'healthy' || (row.appliedRevision ?? 0) < row.revision) return 'progressing';
  return row.follows && row.sourceReady === false ? 'progressing' : 'healthy';
}
