import { BUCKETS, type Caller, type Lockdown } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { commit, markChanged, operatorOf, read, tell, type Actor, type ServiceRuntime } from '@fairlead/events';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import {
  countLockdowns,
  deleteLockdown,
  findLockdown,
  insertLockdown,
  listLockdowns,
  type StoredLockdown,
} from '../store/lockdown-store.js';
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
    const { cluster: name, by, reason } = asked;
    const cluster = name === null ? null : this.clusters.get(tenantId, name);
    return commit(this.runtime, async (manager) => {
      await withAdvisoryLock(manager, `lockdowns:${tenantId}`);
      const before = await findLockdown(manager, tenantId, name);
      if (before && before.clusterId === (cluster?.clusterId ?? null)) return shown(before);
      // Of a cluster that had this name before.
      if (before) await this.#remove(manager, before);
      else await this.#checkRoom(manager, tenantId);
      const row = await insertLockdown(manager, { tenantId, cluster }, { by, reason, at: this.runtime.now() });
      await markChanged(manager, BUCKETS.grants, [row.bucketKey]);
      const event = { ...about(row, operatorOf(caller, by)), why: reason };
      await tell(this.runtime, manager, 'dev.fairlead.lockdown.begun.v1', event);
      return shown(row);
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
    const isStale = ({ tenantId, clusterName, clusterId }: StoredLockdown): boolean => {
      const known = clusterName === null ? undefined : this.clusters.find(tenantId, clusterName);
      return known !== undefined && known.clusterId !== clusterId;
    };
    const stale = (await read(this.runtime, (manager) => listLockdowns(manager))).filter(isStale);
    for (const { tenantId, clusterName, by, reason } of stale) {
      await this.begin(this.runtime.source, tenantId, { cluster: clusterName, by, reason });
    }
  }

  async #remove(manager: EntityManager, { bucketKey }: StoredLockdown): Promise<void> {
    await deleteLockdown(manager, bucketKey);
    await markChanged(manager, BUCKETS.grants, [bucketKey]);
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
