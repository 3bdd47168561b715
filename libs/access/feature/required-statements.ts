import type { ClusterEntry } from '@fairlead/contracts';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import { requiredClusters } from '../domain/revocation-list.js';
import { requiredOf, setRequired } from '../store/revocation-store.js';
import type { KnownClusters } from './known-clusters.js';

/** Puts into the list of each tenant which clusters are to take nobody without a statement, as registration tells of them. */
export class RequiredStatements {
  readonly #database: DataSource;
  readonly #clusters: Pick<KnownClusters, 'byTenant' | 'changes'>;
  /** Of the clusters, when all that they say was written. */
  #written: number | null = null;

  constructor(database: DataSource, clusters: Pick<KnownClusters, 'byTenant' | 'changes'>) {
    this.#database = database;
    this.#clusters = clusters;
  }

  /** Writes what has changed since the last time. */
  async follow(): Promise<void> {
    const { changes } = this.#clusters;
    const tenants = this.#clusters.byTenant();
    if (changes === this.#written || !tenants) return;
    for (const [tenantId, clusters] of tenants)
      await inTransaction(this.#database, (manager) => writeRequired(manager, tenantId, clusters));
    this.#written = changes;
  }
}

/** A cluster that is not there at the moment keeps what was said of it: NATS may have lost it. */
async function writeRequired(
  manager: EntityManager,
  tenantId: string,
  clusters: readonly ClusterEntry[],
): Promise<void> {
  const before = await requiredOf(manager, tenantId);
  const required = requiredClusters(clusters, before);
  if (before.length > 0 || required.length > 0) await setRequired(manager, tenantId, required);
}
