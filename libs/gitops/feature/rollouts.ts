import { fitPage, placeText, readPlace, type Assignment, type Caller, type Rollout } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import type { Actor } from '@fairlead/events';
import { planWaves, showWave } from '../domain/rollout-clusters.js';
import { beginRollout, hasEnded, steerRollout, type RolloutStep } from '../domain/rollout.js';
import { selectAssignment, type AdoptedSpec } from '../domain/select-assignment.js';
import { listAssignments, lockAssignment, saveAssignment } from '../store/assignment-store.js';
import { lockCatalog } from '../store/locks.js';
import { tenantClusters, touchClusters, type StoredCluster } from '../store/cluster-store.js';
import {
  adoptSpec,
  forgetRollouts,
  insertRollout,
  listRollouts,
  lockRollout,
  lockRolloutOf,
  updateRollout,
  type StoredRollout,
} from '../store/rollout-store.js';
import { actorOf, commit, operatorOf, read, tell, type Runtime } from './runtime.js';

/** Of a tenant, beside those that have not ended. */
const KEPT = 100;
const PAGE_ROWS = 100;

/** How changes of assignments reach their clusters. */
export class Rollouts {
  constructor(
    private readonly runtime: Runtime,
    private readonly silenceMs: number,
  ) {}

  /** Newest first, as many as fit in an answer; `next` is the place to go on after. */
  async list(tenantId: string, after?: string): Promise<{ rollouts: Rollout[]; next?: string }> {
    const place = after === undefined ? null : readPlace(after);
    const rows = await read(this.runtime, (manager) => listRollouts(manager, tenantId, place, PAGE_ROWS + 1));
    const rollouts = fitPage(rows.slice(0, PAGE_ROWS).map(show));
    const last = rows[rollouts.length - 1];
    if (!last || rollouts.length === rows.length) return { rollouts };
    return { rollouts, next: placeText({ atMs: last.startedAt.getTime(), id: last.id }) };
  }

  /** CONFLICT if it is not in a state for that. */
  async steer(
    caller: Caller,
    tenantId: string,
    { id, step, actor }: { id: string; step: 'pause' | 'resume' | 'abort' | 'roll-back'; actor: string },
  ): Promise<Rollout> {
    return commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const rollout = await lockRollout(manager, tenantId, id);
      const steered = steerRollout(rollout.progress, step, `${actor} said ${step}`, this.runtime.now().getTime());
      if (!steered) throw new FairleadError('CONFLICT', `the rollout is ${rollout.state}: it cannot ${step}`);
      return show(await takeStep(this.runtime, manager, rollout, steered, operatorOf(caller, actor)));
    });
  }

  /** Within the transaction that changed the assignment. One that had not ended ends here. */
  async begin(
    manager: EntityManager,
    tenantId: string,
    spec: Assignment,
    version: number,
    actor: Actor,
  ): Promise<void> {
    await this.abandon(manager, tenantId, spec.name, 'the assignment was changed again', actor);
    const now = this.runtime.now();
    const clusters = await this.#selected(manager, tenantId, spec);
    const stable = (await lockAssignment(manager, tenantId, spec.name))?.stable ?? null;
    const { formers, formerOf } = formersOf(clusters, spec.name, stable);
    const silentBefore = now.getTime() - this.silenceMs;
    const waves = planWaves(
      spec.rollout.waves,
      clusters.map(({ id, reportedAt }) => ({ id, silent: (reportedAt?.getTime() ?? 0) < silentBefore })),
    );
    const progress = beginRollout(waves, (id) => formerOf[id] !== undefined);
    const id = crypto.randomUUID();
    const row = { id, tenantId, assignment: spec.name, version, spec, formers, formerOf, progress };
    const rollout: StoredRollout = { ...row, state: 'running', startedAt: now, endedAt: null };
    await insertRollout(manager, rollout);
    await forgetRollouts(manager, tenantId, KEPT);
    await tellOf(this.runtime, manager, rollout, actor);
  }

  /** Ends the one that runs, and leaves its clusters as they are. */
  async abandon(manager: EntityManager, tenantId: string, name: string, reason: string, actor: Actor): Promise<void> {
    const running = await lockRolloutOf(manager, tenantId, name);
    const ended = running && steerRollout(running.progress, 'abort', reason, this.runtime.now().getTime());
    if (ended) await takeStep(this.runtime, manager, running, ended, actor);
  }

  async #selected(manager: EntityManager, tenantId: string, spec: Assignment): Promise<StoredCluster[]> {
    const others = (await listAssignments(manager, tenantId)).filter(({ name }) => name !== spec.name);
    const all = [...others.map((other) => other.spec), spec];
    const clusters = await tenantClusters(manager, tenantId);
    return clusters.filter((cluster) => selectAssignment(all, cluster)?.name === spec.name);
  }
}

/** Writes down a step, and does what it says. The row is locked. */
export async function takeStep(
  runtime: Runtime,
  manager: EntityManager,
  rollout: StoredRollout,
  { state: progress, actions }: RolloutStep,
  actor: Actor = actorOf(runtime.source),
): Promise<StoredRollout> {
  const now = runtime.now();
  const { id, tenantId, assignment: name, version, spec, formers, formerOf } = rollout;
  for (const action of actions) {
    if (action.kind === 'apply') await adoptSpec(manager, action.clusters, { version, spec }, now);
    if (action.kind === 'revert') {
      for (const [place, former] of formers.entries()) {
        const back = action.clusters.filter((clusterId) => formerOf[clusterId] === place);
        await adoptSpec(manager, back, former, now);
      }
    }
    const assignment = await lockAssignment(manager, tenantId, name);
    if (!assignment || assignment.version !== version) continue;
    if (action.kind === 'finish') {
      await saveAssignment(manager, { ...assignment, stable: spec, stableVersion: version });
    }
    if (action.kind === 'restore' && assignment.stable) {
      await saveAssignment(manager, { ...assignment, spec: assignment.stable });
    }
  }
  const endedAt = hasEnded(progress) ? now : null;
  const changed = { ...rollout, progress, state: progress.state, endedAt };
  await updateRollout(manager, id, { progress, state: progress.state, endedAt });
  if (endedAt) await touchClusters(manager, { tenantId }, now);
  if (progress.state !== rollout.state || progress.wave !== rollout.progress.wave) {
    await tellOf(runtime, manager, changed, actor);
  }
  return changed;
}

/** What each cluster goes back to: what it has, and if that is an earlier one of this assignment, the last that all had. */
function formersOf(
  clusters: readonly StoredCluster[],
  name: string,
  stable: Assignment | null,
): Pick<StoredRollout, 'formers' | 'formerOf'> {
  const formers: AdoptedSpec[] = [];
  const places = new Map<string, number>();
  const formerOf: Record<string, number> = {};
  for (const { id, adopted } of clusters) {
    if (!adopted || (adopted.spec.name === name && stable === null)) continue;
    const former = adopted.spec.name === name && stable ? { version: 0, spec: stable } : adopted;
    const key = `${former.spec.name} ${former.version}`;
    const place = places.get(key) ?? formers.push(former) - 1;
    places.set(key, place);
    formerOf[id] = place;
  }
  return { formers, formerOf };
}

async function tellOf(
  runtime: Runtime,
  manager: EntityManager,
  { id: rolloutId, tenantId, assignment, progress }: StoredRollout,
  actor: Actor,
): Promise<void> {
  const { state, wave, reason: why } = progress;
  const about = { tenantId, subject: `rollout/${rolloutId}`, actor, reason: 'OK' };
  const data = { ...about, rolloutId, assignment, state, wave, why };
  await tell(runtime, manager, 'dev.fairlead.rollout.changed.v1', data);
}

function show({ id, assignment, state, progress, startedAt, endedAt }: StoredRollout): Rollout {
  return {
    id,
    assignment,
    state,
    wave: Math.min(progress.wave, Math.max(progress.waves.length - 1, 0)),
    waves: progress.waves.map((wave) => showWave(progress.clusters, wave)),
    reason: progress.reason,
    startedAt: startedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}
