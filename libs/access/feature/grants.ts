import { BUCKETS, fitPage, grantsKeys, type Caller, type Grant, type NewGrant, type Subject } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { commit, markChanged, operatorOf, read, tell, type ServiceRuntime } from '@fairlead/events';
import { parseLabelSelector, selectsLabels } from '@fairlead/contracts';
import { checkNewGrant, keyOf } from '../domain/grant.js';
import { lapseRequestsOf } from '../store/access-request-store.js';
import { clusterSelectors, endGrants, listGrants, lockGrant, type GrantFilter } from '../store/grant-store.js';
import { aboutGrant, addGrant } from './add-grant.js';
import type { KnownClusters } from './known-clusters.js';

const PAGE_ROWS = 500;

export interface Page<T> {
  readonly items: T[];
  /** To go on after; absent: that was all. */
  readonly next?: string;
}

/** Who may do what where. */
export class Grants {
  constructor(
    private readonly runtime: ServiceRuntime,
    private readonly clusters: KnownClusters,
  ) {}

  /** INVALID_ARGUMENT for one that could mean nothing, or has ended; TOO_LARGE if it, or all of its subject, is too large for doors. */
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
    await commit(this.runtime, (manager) => addGrant(this.runtime, manager, operatorOf(caller, by), grant));
    return grant;
  }

  /** Those that have not ended, by id. NOT_FOUND for a cluster that is not known. */
  async list(
    tenantId: string,
    { after, subject, cluster }: { readonly after?: string | undefined; readonly subject?: Subject | undefined; readonly cluster?: string | undefined },
  ): Promise<Page<Grant>> {
    return read(this.runtime, async (manager) => {
      const bucketKey = subject && grantsKeys.subject(tenantId, subject);
      const meant = cluster === undefined ? undefined : await this.#meaning(manager, tenantId, cluster);
      return pageOf(await listGrants(manager, tenantId, { after, bucketKey, cluster: meant }, PAGE_ROWS), PAGE_ROWS);
    });
  }

  /** What stands because of it ends. NOT_FOUND, also for one that has ended. */
  async delete(caller: Caller, tenantId: string, { id, by }: { readonly id: string; readonly by: string }): Promise<void> {
    await commit(this.runtime, async (manager) => {
      const grant = await lockGrant(manager, tenantId, id);
      await endGrants(manager, [id], this.runtime.now(), by);
      await lapseRequestsOf(manager, [id]);
      await markChanged(manager, BUCKETS.grants, [keyOf(grant)]);
      await tell(this.runtime, manager, 'dev.fairlead.grant.deleted.v1', aboutGrant(grant, operatorOf(caller, by)));
    });
  }

  async #meaning(
    manager: Parameters<typeof clusterSelectors>[0],
    tenantId: string,
    name: string,
  ): Promise<GrantFilter['cluster']> {
    const { labels } = this.clusters.get(tenantId, name);
    const all = await clusterSelectors(manager, tenantId);
    return { name, selectors: all.filter((selector) => selectsLabels(parseLabelSelector(selector), labels)) };
  }
}

/** As many as fit in an answer. */
export function pageOf<T extends { readonly id: string }>(rows: readonly T[], limit: number): Page<T> {
  const items = fitPage(rows);
  const last = items.at(-1);
  return last && (items.length < rows.length || rows.length === limit) ? { items, next: last.id } : { items };
}
