import type { Caller, Cluster, CreateCluster, Presence } from '@fairlead/contracts';
import { fitPage } from '../domain/fit-page.js';
import { forgetCluster } from '../store/client-store.js';
import {
  deleteCluster,
  findClusterByName,
  insertCluster,
  listClusters,
  lockCluster,
  type StoredCluster,
} from '../store/cluster-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

const PAGE_ROWS = 1_000;

export type PresenceOf = (clusterId: string, enrolledAt: string | null) => Presence;

/** Creates, shows and deletes clusters. */
export class Clusters {
  readonly #runtime: Runtime;
  readonly #presenceOf: PresenceOf;

  constructor(runtime: Runtime, presenceOf: PresenceOf) {
    this.#runtime = runtime;
    this.#presenceOf = presenceOf;
  }

  /** ALREADY_EXISTS if the name is taken in the installation. */
  async create(caller: Caller, tenantId: string, input: CreateCluster): Promise<Cluster> {
    const row = await commit(this.#runtime, async (manager) => {
      const cluster = await insertCluster(manager, { tenantId, ...input });
      const { name, links, targets } = cluster;
      const event = { ...about(caller, cluster), name, links, targets };
      await tell(this.#runtime, manager, 'dev.fairlead.cluster.created.v1', event);
      return cluster;
    });
    return this.#show(row);
  }

  /** As many as fit in an answer; `next` is the name to go on after. */
  async list(tenantId: string, after = ''): Promise<{ clusters: Cluster[]; next?: string }> {
    const rows = await read(this.#runtime, (manager) => listClusters(manager, tenantId, after, PAGE_ROWS));
    const clusters = fitPage(rows.map((row) => this.#show(row)));
    const last = clusters.at(-1);
    const more = clusters.length < rows.length || rows.length === PAGE_ROWS;
    return last && more ? { clusters, next: last.name } : { clusters };
  }

  async get(tenantId: string, name: string): Promise<Cluster> {
    return this.#show(await read(this.#runtime, (manager) => findClusterByName(manager, tenantId, name)));
  }

  async delete(caller: Caller, tenantId: string, name: string): Promise<void> {
    await commit(this.#runtime, async (manager) => {
      const cluster = await findClusterByName(manager, tenantId, name);
      // Whoever enrols or mints a token at this moment holds the same lock.
      await lockCluster(manager, cluster.id);
      await forgetCluster(manager, tenantId, cluster.id);
      await deleteCluster(manager, cluster.id);
      await tell(this.#runtime, manager, 'dev.fairlead.cluster.deleted.v1', { ...about(caller, cluster), name });
    });
  }

  #show(row: StoredCluster): Cluster {
    const { id, tenantId, name, labels, links, targets, generation } = row;
    const enrolledAt = row.enrolledAt?.toISOString() ?? null;
    const createdAt = row.createdAt.toISOString();
    const presence = this.#presenceOf(id, enrolledAt);
    return { id, tenantId, name, labels, links, targets, generation, createdAt, enrolledAt, presence };
  }
}

function about(
  caller: Caller,
  { tenantId, id: clusterId }: StoredCluster,
): { tenantId: string; clusterId: string; subject: string; actor: ReturnType<typeof actorOf>; reason: string } {
  return { tenantId, clusterId, subject: `cluster/${clusterId}`, actor: actorOf(caller), reason: 'OK' };
}
