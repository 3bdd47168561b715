import type { Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { beginRotation, publicKeysOf, replaceCompromised, withdrawCompromised } from '../domain/key-plan.js';
import type { DeployKeyState } from '../domain/key-state.js';
import {
  clustersNamed,
  clustersWithKeys,
  findClusterByName,
  lockCluster,
  updateCluster,
  type StoredCluster,
} from '../store/cluster-store.js';
import { lockFleet } from '../store/locks.js';
import { commit, operatorOf, tell, type Runtime } from './runtime.js';

export interface RotationRequest {
  readonly name: string;
  readonly reason: 'demand' | 'compromise';
  readonly actor: string;
}

/** Of whom the work is, in the events. */
interface Asked extends RotationRequest {
  readonly caller: Caller;
  readonly tenantId: string;
}

/** Has the next key tried before the present one goes. NOT_FOUND; CONFLICT where nothing is followed, or a rotation is under way. */
export function rotateOnDemand(
  runtime: Runtime,
  caller: Caller,
  tenantId: string,
  request: RotationRequest,
): Promise<StoredCluster> {
  return commit(runtime, async (manager) => {
    const found = await findClusterByName(manager, tenantId, request.name);
    const cluster = found && (await lockCluster(manager, found.id));
    if (!cluster) throw notFound(request);
    const deployKeys = beginRotation(cluster.deployKeys, { why: 'demand', begunAtMs: runtime.now().getTime() });
    if (!deployKeys) throw refusal(cluster);
    return change(runtime, manager, { ...request, caller, tenantId }, cluster, deployKeys);
  });
}

/**
 * Withdraws the keys of a cluster, which count as compromised, from it and from all of the tenant that have one of them: a cluster that was
 * cloned, or restored from another one's backup, has its keys. Of a cluster that was deleted a moment ago, too, and of all that had
 * the name. `others`: the names of clusters that lose a key besides. NOT_FOUND; CONFLICT where there is no key to withdraw.
 */
export function withdrawEverywhere(
  runtime: Runtime,
  caller: Caller,
  tenantId: string,
  request: RotationRequest,
): Promise<{ cluster: StoredCluster; others: string[] }> {
  return commit(runtime, async (manager) => {
    // Several rows are locked: nobody else does that meanwhile, in another order.
    await lockFleet(manager);
    const named = await clustersNamed(manager, tenantId, request.name);
    const [first] = named;
    if (!first) throw notFound(request);
    const publicKeys = named.flatMap(({ deployKeys }) => publicKeysOf(deployKeys));
    const sharing = publicKeys.length > 0 ? await clustersWithKeys(manager, tenantId, publicKeys) : [];
    const nowMs = runtime.now().getTime();
    const changed: StoredCluster[] = [];
    for (const id of new Set([...named.map((cluster) => cluster.id), ...sharing])) {
      const cluster = await lockCluster(manager, id);
      if (!cluster) continue;
      const isNamed = named.some((each) => each.id === id);
      const deployKeys = isNamed
        ? replaceCompromised(cluster.deployKeys, nowMs)
        : withdrawCompromised(cluster.deployKeys, new Set(publicKeys), nowMs);
      if (deployKeys)
        changed.push(await change(runtime, manager, { ...request, caller, tenantId }, cluster, deployKeys));
    }
    if (changed.length === 0) throw first.absentSince ? notFound(request) : refusal(first);
    const cluster = changed.find(({ id }) => id === first.id) ?? first;
    const others = changed.map(({ name }) => name).filter((name) => name !== request.name);
    return { cluster, others: [...new Set(others)].toSorted() };
  });
}

async function change(
  runtime: Runtime,
  manager: EntityManager,
  { caller, tenantId, actor, reason: why }: Asked,
  cluster: StoredCluster,
  deployKeys: DeployKeyState,
): Promise<StoredCluster> {
  const { id: clusterId, name } = cluster;
  const changed = { deployKeys, dueAt: runtime.now(), touched: cluster.touched + 1 };
  await updateCluster(manager, clusterId, changed);
  const about = { tenantId, subject: `cluster/${clusterId}`, actor: operatorOf(caller, actor), reason: 'OK' };
  const { number } = deployKeys.next ?? deployKeys.current;
  const data = { ...about, clusterId, name, number, step: 'begun', why } as const;
  await tell(runtime, manager, 'dev.fairlead.deploy-key.rotated.v1', data);
  return { ...cluster, ...changed };
}

function notFound({ name }: RotationRequest): FairleadError {
  return new FairleadError('NOT_FOUND', `there is no cluster named ${name}`);
}

function refusal({ name, deployKeys: { repositoryId, next } }: StoredCluster): FairleadError {
  const why =
    repositoryId === null
      ? 'is not in use: it follows no repository'
      : next
        ? 'is being rotated already'
        : 'has had all the numbers that there are';
  return new FairleadError('CONFLICT', `the deploy key of ${name} ${why}`);
}
