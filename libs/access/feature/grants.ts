import {
  BUCKETS,
  MAX_CLUSTER_NAMES,
  grantsKeys,
  pageOf,
  parseLabelSelector,
  selectsLabels,
  subjectsOf,
  type Caller,
  type Grant,
  type NewGrant,
  type Subject,
} from '@fairlead/contracts';
import { commit, markChanged, operatorOf, read, tell, type ServiceRuntime } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { clustersMeant } from '../domain/clusters-meant.js';
import { checkNewGrant, keyOf } from '../domain/grant.js';
import { revokedGrant } from '../domain/revoked.js';
import { lapseRequestsOf } from '../store/access-request-store.js';
import {
  clusterSelectors,
  endGrants,
  findGrant,
  grantsOfKeys,
  listGrants,
  lockGrant,
  type GrantFilter,
} from '../store/grant-store.js';
import { addRevoked } from '../store/revocation-store.js';
import { aboutGrant, addGrant } from './add-grant.js';
import type { KnownClusters } from './known-clusters.js';
import type { QuotasOf } from './tenant-quotas.js';

const PAGE_ROWS = 500;

export interface Page<T> {
  readonly items: T[];
  /** To go on after; absent: that was all. */
  readonly next?: string;
}

/** Somebody who asks about themselves. */
type Self = Parameters<typeof subjectsOf>[0];
type After = { readonly after?: string | undefined };

/** Who may do what where. */
export class Grants {
  constructor(
    private readonly runtime: ServiceRuntime,
    private readonly clusters: KnownClusters,
    private readonly quotasOf: QuotasOf,
  ) {}

  /** INVALID_ARGUMENT for one that could mean nothing, or has ended; TOO_LARGE if it, or all of its subject, is too large for doors; QUOTA_EXCEEDED. */
  async create(caller: Caller, tenantId: string, { by, ...input }: NewGrant & { readonly by: string }): Promise<Grant> {
    const now = this.runtime.now();
    checkNewGrant(input, now);
    const grant: Grant = {
      ...input,
      id: crypto.randomUUID(),
      tenantId,
      notBefore: input.notBefore && new Date(input.notBefore).toISOString(),
      expiresAt: input.expiresAt && new Date(input.expiresAt).toISOString(),
      createdBy: by,
      createdAt: now.toISOString(),
      requestId: null,
    };
    const quotas = await this.quotasOf(tenantId);
    const actor = operatorOf(caller, by);
    await commit(this.runtime, (manager) => addGrant(this.runtime, manager, actor, { grant, quotas }));
    return grant;
  }

  /** Those that have not ended, by id. NOT_FOUND for a cluster that is not known. */
  async list(
    tenantId: string,
    {
      after,
      subject,
      cluster,
    }: After & { readonly subject?: Subject | undefined; readonly cluster?: string | undefined },
  ): Promise<Page<Grant>> {
    return read(this.runtime, async (manager) => {
      const bucketKeys = subject && [grantsKeys.subject(tenantId, subject)];
      const meant = cluster === undefined ? undefined : await this.#meaning(manager, tenantId, cluster);
      const rows = await listGrants(manager, tenantId, { after, bucketKeys, cluster: meant }, PAGE_ROWS);
      return pageOf(rows, PAGE_ROWS, ({ id }) => id);
    });
  }

  /** NOT_FOUND, also for one that has ended. */
  async get(tenantId: string, id: string): Promise<Grant> {
    return read(this.runtime, (manager) => findGrant(manager, tenantId, id));
  }

  /** Those that count for somebody, by id. */
  async of(tenantId: string, { after, ...self }: Self & After): Promise<Page<Grant>> {
    const bucketKeys = keysOf(tenantId, self);
    const rows = await read(this.runtime, (manager) => listGrants(manager, tenantId, { after, bucketKeys }, PAGE_ROWS));
    return pageOf(rows, PAGE_ROWS, ({ id }) => id);
  }

  /** The clusters that somebody has anything in now, by name. UNAVAILABLE while it is not known which there are. */
  async clustersOf(
    tenantId: string,
    { after = '', name, ...self }: Self & After & { readonly name?: string | undefined },
  ): Promise<{ names: string[]; next?: string }> {
    const known = this.clusters.all(tenantId);
    const grants = await read(this.runtime, (manager) => grantsOfKeys(manager, keysOf(tenantId, self)));
    const candidates = name === undefined ? known : known.filter((cluster) => cluster.name === name);
    const meant = clustersMeant(grants, candidates, this.runtime.now()).filter((each) => each > after);
    const names = meant.slice(0, MAX_CLUSTER_NAMES);
    const last = names.at(-1);
    return last !== undefined && names.length < meant.length ? { names, next: last } : { names };
  }

  /** What stands because of it ends. NOT_FOUND, also for one that has ended. */
  async delete(
    caller: Caller,
    tenantId: string,
    { id, by }: { readonly id: string; readonly by: string },
  ): Promise<void> {
    await commit(this.runtime, async (manager) => {
      const grant = await lockGrant(manager, tenantId, id);
      const now = this.runtime.now();
      await endGrants(manager, [id], now, by);
      await addRevoked(manager, tenantId, revokedGrant(grant, now));
      await lapseRequestsOf(manager, [id]);
      await markChanged(manager, BUCKETS.grants, [keyOf(grant)]);
      await tell(this.runtime, manager, 'dev.fairlead.grant.deleted.v1', aboutGrant(grant, operatorOf(caller, by)));
    });
  }

  async #meaning(manager: EntityManager, tenantId: string, name: string): Promise<GrantFilter['cluster']> {
    const { labels } = this.clusters.get(tenantId, name);
    const all = await clusterSelectors(manager, tenantId);
    return { name, selectors: all.filter((selector) => selectsLabels(parseLabelSelector(selector), labels)) };
  }
}

function keysOf(tenantId: string, self: Self): string[] {
  return subjectsOf(self).map((subject) => grantsKeys.subject(tenantId, subject));
}
