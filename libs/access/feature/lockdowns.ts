import { BUCKETS, type Caller, type ClusterEntry, type Lockdown } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import {
  actorOf,
  commit,
  markChanged,
  operatorOf,
  read,
  tell,
  type Actor,
  type ServiceRuntime,
} from '@fairlead/events';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import {
  countLockdowns,
  deleteLockdown,
  findLockdown,
  insertLockdown,
  listLockdowns,
  type Locked,
  type StoredLockdown,
} from '../store/lockdown-store.js';
import { changeList } from '../store/revocation-store.js';
import type { KnownClusters } from './known-clusters.js';

/** Of one tenant. */
const MAX_LOCKDOWNS = 1_000;

/** The kill switch: everybody but the administrator out of a cluster, or of all. */
export class Lockdowns {
  constructor(
    private readonly runtime: ServiceRuntime,
    private readonly clusters: KnownClusters,
  ) {}

  async list(tenantId: string): Promise<Lockdown[]> {
    return (await read(this.runtime, (manager) => listLockdowns(manager, tenantId, MAX_LOCKDOWNS))).map(shown);
  }

  /** Again: no change. NOT_FOUND for a cluster that is not known; TOO_LARGE above a thousand. */
  async begin(caller: Caller, tenantId: string, asked: Omit<Lockdown, 'at'>): Promise<Lockdown> {
    const { cluster: name, by } = asked;
    const cluster = name === null ? null : this.clusters.get(tenantId, name);
    return commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, `lockdowns:${tenantId}`);
      const before = await findLockdown(manager, tenantId, name);
      if (before && before.clusterId === (cluster?.clusterId ?? null)) return shown(before);
      // Of a cluster that had this name before.
      if (before) await this.#remove(manager, before);
      else await this.#checkRoom(manager, tenantId);
      return this.#insert(manager, operatorOf(caller, by), { tenantId, cluster }, asked);
    });
  }

  /** Null: that of the whole tenant; those of clusters stay. NOT_FOUND if there is none. */
  async lift(
    caller: Caller,
    tenantId: string,
    { cluster, by }: { readonly cluster: string | null; readonly by: string },
  ): Promise<void> {
    await commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, `lockdowns:${tenantId}`);
      const lockdown = await findLockdown(manager, tenantId, cluster);
      if (!lockdown) throw new FairleadError('NOT_FOUND', `there is no lockdown of ${cluster ?? 'all clusters'}`);
      await this.#remove(manager, lockdown);
      await tell(this.runtime, manager, 'dev.fairlead.lockdown.lifted.v1', about(lockdown, operatorOf(caller, by)));
    });
  }

  /** A cluster that was registered anew under its name is locked as the one before. */
  async followNames(): Promise<void> {
    const all = await read(this.runtime, (manager) => listLockdowns(manager));
    for (const lockdown of all.filter((each) => this.#successorOf(each) !== null)) {
      await this.#follow(lockdown);
    }
  }

  #follow({ tenantId, clusterName }: StoredLockdown): Promise<void> {
    return commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, `lockdowns:${tenantId}`);
      // Somebody may have lifted it meanwhile.
      const stands = await findLockdown(manager, tenantId, clusterName);
      const cluster = stands && this.#successorOf(stands);
      if (!stands || !cluster) return;
      await this.#remove(manager, stands);
      await this.#insert(manager, actorOf(this.runtime.source), { tenantId, cluster }, stands);
    });
  }

  /** The cluster that has the name now, if that is another one. */
  #successorOf({ tenantId, clusterName, clusterId }: StoredLockdown): ClusterEntry | null {
    const known = clusterName === null ? undefined : this.clusters.find(tenantId, clusterName);
    return known === undefined || known.clusterId === clusterId ? null : known;
  }

  async #insert(
    manager: EntityManager,
    actor: Actor,
    locked: Locked,
    { by, reason }: Pick<Lockdown, 'by' | 'reason'>,
  ): Promise<Lockdown> {
    const row = await insertLockdown(manager, locked, { by, reason, at: this.runtime.now() });
    await markChanged(manager, BUCKETS.grants, [row.bucketKey]);
    await changeList(manager, row.tenantId);
    await tell(this.runtime, manager, 'dev.fairlead.lockdown.begun.v1', { ...about(row, actor), why: reason });
    return shown(row);
  }

  async #remove(manager: EntityManager, { bucketKey, tenantId }: StoredLockdown): Promise<void> {
    await deleteLockdown(manager, bucketKey);
    await markChanged(manager, BUCKETS.grants, [bucketKey]);
    await changeList(manager, tenantId);
  }

  async #checkRoom(manager: EntityManager, tenantId: string): Promise<void> {
    if ((await countLockdowns(manager, tenantId)) < MAX_LOCKDOWNS) return;
    throw new FairleadError('TOO_LARGE', `there are ${MAX_LOCKDOWNS} lockdowns already: lock all clusters down`);
  }
}

function shown({ clusterName: cluster, by, at, reason }: StoredLockdown): Lockdown {
  return { cluster, by, at: at.toISOString(), reason };
}

function about({ tenantId, clusterId, clusterName: cluster }: StoredLockdown, actor: Actor) {
  const subject = clusterId === null ? `tenant/${tenantId}` : `cluster/${clusterId}`;
  return { tenantId, subject, actor, reason: 'OK', clusterId, cluster };
}
