import { isDeepStrictEqual } from 'node:util';
import { fullJitterMs } from '@fairlead/clock';
import type { DesiredState, GitOpsSpec } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import { adopt } from '../domain/select-assignment.js';
import { computeSpec } from '../domain/compute-spec.js';
import { droppable, isHeld, noteAges, numberDueAt, planKeys } from '../domain/key-plan.js';
import type { DeployKeyState } from '../domain/key-state.js';
import { highestSeen, incredibleRevision } from '../domain/next-revision.js';
import { updateCluster, updateIfUntouched, type StoredCluster } from '../store/cluster-store.js';
import type { World } from './converge-world.js';
import { askForKeys, dropKeys } from './deploy-keys.js';
import type { KeysPort } from './keys-port.js';
import { commit, actorOf, tell, type Runtime } from './runtime.js';
import { signState, type SignedState } from './sign-state.js';

const RETRY = { baseMs: 1_000, capMs: 60_000 };
/** A cluster that registration does not show may be back in a moment; its keys go later. */
export const ABSENCE_MS = 3_600_000;

type Change = Parameters<typeof updateIfUntouched>[2];

/**
 * Brings one cluster's desired state to what is desired now: adopts, asks for keys, and signs a new revision if anything is different.
 * What fails is tried again later, with growing pauses.
 */
export async function converge(runtime: Runtime, keys: KeysPort, world: World, cluster: StoredCluster): Promise<void> {
  try {
    if (cluster.absentSince) await leave(runtime, keys, cluster, cluster.absentSince);
    else await bringUpToDate(runtime, keys, world, cluster);
  } catch (error) {
    runtime.onFailed?.('cluster');
    const { id: clusterId, failures } = cluster;
    runtime.logger.log(failures === 0 ? 'warn' : 'debug', 'desired_state.delayed', {
      clusterId,
      reason: messageOf(error),
    });
    const dueAt = later(runtime, fullJitterMs(failures, RETRY));
    await commit(runtime, (manager) => updateCluster(manager, clusterId, { dueAt, failures: failures + 1 }));
  }
}

async function bringUpToDate(runtime: Runtime, keys: KeysPort, world: World, cluster: StoredCluster): Promise<void> {
  const { tenantId } = cluster;
  const selected = world.selected(tenantId, cluster);
  const adopted = adopt(cluster.adopted, selected);
  const named = adopted?.spec.repository ?? null;
  const repository = named === null ? undefined : world.repository(tenantId, named);
  const reported = cluster.report?.publicKeys ?? [];
  const left = await dropCompromised(keys, cluster);
  const planned = planKeys(left, repository?.id ?? null, reported, runtime.now());
  const numberAt = numberDueAt(planned, reported, runtime.now());
  const asked = await askForKeys(keys, cluster, planned, repository);
  const known = noteAges(asked.state, runtime.now().getTime());
  const host = repository && world.host(tenantId, repository.hostId);
  const { gitops, waitsFor } = adopted
    ? computeSpec({
        clusterName: cluster.name,
        assignment: adopted.spec,
        bundle: world.bundle(tenantId, adopted.spec.tool, adopted.spec.bundleVersion),
        repository,
        host,
        keys: known,
        previous: cluster.wish,
        holdRepairs: world.holdRepairs(tenantId),
      })
    : { gitops: null, waitsFor: null };
  const signed = await signIfChanged(runtime, keys, world, cluster, gitops);
  const leapAt = signed ? null : leapDueAt(runtime, world, cluster);
  const settled = await settleKeys(keys, cluster, known, signed?.revision ?? cluster.revision);
  const waiting =
    waitsFor ??
    problemOf(cluster, numberAt, leapAt) ??
    asked.waitsFor ??
    (isHeld(known)
      ? 'its next deploy key: the one before counts as compromised, and nothing is fetched until then'
      : null) ??
    (selected && !adopted ? `a rollout of ${selected.name}` : null);
  await save(runtime, cluster, signed, {
    assignment: selected?.name ?? null,
    adopted,
    // Whatever follows is not what was said about the assignment before.
    remove: adopted ? 'keep' : cluster.remove,
    deployKeys: settled,
    waitsFor: waiting?.slice(0, 1_024) ?? null,
    converged: cluster.touched,
    failures: asked.pending ? cluster.failures + 1 : 0,
    dueAt: asked.pending
      ? later(runtime, fullJitterMs(cluster.failures, RETRY) + RETRY.baseMs)
      : earlier(numberAt, leapAt),
    wish: gitops,
  });
}

/** What people have to know of what its installer reports. */
function problemOf({ revision, report }: StoredCluster, numberAt: Date | null, leapAt: Date | null): string | null {
  const observed = report?.observedRevision ?? 0;
  const incredible = incredibleRevision(revision, observed);
  if (incredible !== null) return incredible;
  if (leapAt) {
    return `its installer reports revision ${observed}, and the newest is ${revision}; a higher one is signed from ${leapAt.toISOString()} on, since this happened several times`;
  }
  if (numberAt === null) return null;
  return `its SSH key changed by itself, several times; the new one counts from ${numberAt.toISOString()} on`;
}

/** When it has a revision above what its installer reports, if there is none yet. */
function leapDueAt(runtime: Runtime, world: World, { id, revision, report }: StoredCluster): Date | null {
  if (revision === 0 || highestSeen(revision, report?.observedRevision ?? 0) === revision) return null;
  return later(runtime, world.leaps.waitMs(id, runtime.now().getTime()));
}

/** Undefined: what is desired is what was. */
async function signIfChanged(
  runtime: Runtime,
  keys: KeysPort,
  { leaps }: World,
  cluster: StoredCluster,
  gitops: GitOpsSpec | null,
): Promise<SignedState | undefined> {
  const { id: clusterId, tenantId, revision, remove } = cluster;
  if (revision === 0 && gitops === null) return undefined;
  const seen = highestSeen(revision, cluster.report?.observedRevision ?? 0);
  const removed = gitops ? 'keep' : remove;
  const same = cluster.removed === removed && isDeepStrictEqual(cluster.wish, gitops);
  const leap = same && revision > 0;
  const nowMs = runtime.now().getTime();
  if (leap && (seen === revision || leaps.waitMs(clusterId, nowMs) > 0)) return undefined;
  const state: DesiredState = {
    version: 1,
    tenantId,
    clusterId,
    revision: seen + 1,
    issuedAt: runtime.now().toISOString(),
    gitops,
    remove: removed,
  };
  const signed = await signState(runtime, keys, state);
  if (leap) leaps.take(clusterId, nowMs);
  return signed;
}

/** First of all, whatever else cannot be done now: nobody is to fetch with them. */
async function dropCompromised(keys: KeysPort, cluster: StoredCluster): Promise<DeployKeyState> {
  const { drops, ...state } = cluster.deployKeys;
  await dropKeys(
    keys,
    cluster,
    drops.filter(({ atOnce }) => atOnce),
  );
  return { ...state, drops: drops.filter(({ atOnce }) => !atOnce) };
}

/** Keys that are out of use leave their repositories; those that fell out of use now, when this revision was applied. */
async function settleKeys(
  keys: KeysPort,
  cluster: StoredCluster,
  state: DeployKeyState,
  revision: number,
): Promise<DeployKeyState> {
  const drops = state.drops.map((drop) => ({ ...drop, afterRevision: drop.afterRevision ?? revision }));
  const { appliedRevision = 0, publicKeys = [] } = cluster.report ?? {};
  const gone = droppable({ ...state, drops }, appliedRevision, publicKeys);
  await dropKeys(keys, cluster, gone);
  return { ...state, drops: drops.filter((drop) => !gone.includes(drop)) };
}

async function save(
  runtime: Runtime,
  cluster: StoredCluster,
  signed: SignedState | undefined,
  change: Change,
): Promise<void> {
  const { id: clusterId, tenantId, name } = cluster;
  const about = { tenantId, subject: `cluster/${clusterId}`, actor: actorOf(runtime.source), reason: 'OK' };
  await commit(runtime, async (manager) => {
    if (!(await updateIfUntouched(manager, cluster, { ...change, ...signed }))) return;
    if (signed) {
      const { revision } = signed;
      const data = { ...about, clusterId, name, revision, assignment: change.assignment ?? null };
      await tell(runtime, manager, 'dev.fairlead.desired-state.changed.v1', data);
    }
    const { current } = change.deployKeys ?? cluster.deployKeys;
    if (isSwitched(cluster.deployKeys, current)) {
      const { number, why = 'demand' } = current;
      const data = { ...about, clusterId, name, number, step: 'switched', why } as const;
      await tell(runtime, manager, 'dev.fairlead.deploy-key.rotated.v1', data);
    }
  });
  if (signed) runtime.onDesired();
}

/** Is this the key that a rotation was about? After a compromise it is used as soon as it is there. */
function isSwitched(before: DeployKeyState, { number, ready }: DeployKeyState['current']): boolean {
  if (number === before.next?.number) return true;
  return number === before.current.number && isHeld(before) && ready;
}

/** A cluster that is gone for good takes its keys with it. */
async function leave(runtime: Runtime, keys: KeysPort, cluster: StoredCluster, absentSince: Date): Promise<void> {
  const goneAt = new Date(absentSince.getTime() + ABSENCE_MS);
  if (runtime.now() < goneAt) {
    const deployKeys = await dropCompromised(keys, cluster);
    await commit(runtime, (manager) => updateIfUntouched(manager, cluster, { dueAt: goneAt, deployKeys }));
    return;
  }
  const { drops, ...state } = planKeys(cluster.deployKeys, null, [], runtime.now());
  await dropKeys(keys, cluster, drops);
  const change = { dueAt: null, failures: 0, deployKeys: { ...state, drops: [] } };
  await commit(runtime, (manager) => updateIfUntouched(manager, cluster, change));
}

function earlier(one: Date | null, other: Date | null): Date | null {
  return one && other ? (one < other ? one : other) : (one ?? other);
}

function later(runtime: Runtime, ms: number): Date {
  return new Date(runtime.now().getTime() + ms);
}
