import { isDeepStrictEqual } from 'node:util';
import {
  expectRevision,
  fitPage,
  revisionOf,
  type Caller,
  type Cluster,
  type ClusterChange,
  type ClusterFilter,
  type CreateCluster,
  type Expecting,
  type Presence,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { changedLabels, clusterFilter } from '../domain/cluster-labels.js';
import { knownFacts } from '../domain/known-facts.js';
import { forgetCluster } from '../store/client-store.js';
import {
  changeSettings,
  deleteCluster,
  findClusterByName,
  insertCluster,
  listClusters,
  lockCluster,
  lockClusterByName,
  type StoredCluster,
} from '../store/cluster-store.js';
import { deleteUnspentLinks, revokeUnusedTokens } from '../store/token-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';
import { turnAway } from './turn-away.js';

const PAGE_ROWS = 1_000;
/** Each one finds that the cluster has enrolled again since the one before. */
const DELETE_ATTEMPTS = 3;

/** What is known of its links at this moment. */
export type PresenceOf = (clusterId: string, enrolledAt: string | null) => Omit<Presence, 'lastError'>;

interface ClusterListing extends ClusterFilter {
  readonly after?: string | undefined;
  /** Only those of these names. */
  readonly names?: readonly string[] | undefined;
}

/** Asks the keys service to make a cluster's certificates worth nothing. */
type RevokeGenerations = (
  tenantId: string,
  request: { clusterId: string; throughGeneration: number; reason: string; clusterDeleted?: boolean },
) => Promise<unknown>;

/** Creates, shows, revokes and deletes clusters. */
export class Clusters {
  constructor(
    private readonly runtime: Runtime,
    private readonly presenceOf: PresenceOf,
    private readonly revokeGenerations: RevokeGenerations,
  ) {}

  /** ALREADY_EXISTS if the name is taken in the installation; INVALID_ARGUMENT. */
  async create(caller: Caller, tenantId: string, input: CreateCluster): Promise<Cluster> {
    refuseTogether(input);
    const row = await commit(this.runtime, async (manager) => {
      const cluster = await insertCluster(manager, { tenantId, ...input });
      const event = { ...about(caller, cluster), name: cluster.name, ...toldOf(settingsOf(cluster)) };
      await tell(this.runtime, manager, 'dev.fairlead.cluster.created.v1', event);
      return cluster;
    });
    return this.#show(row);
  }

  /** Changes its labels and what its import manifest says; nothing is told if that is what it says already. NOT_FOUND, REVISION_CONFLICT, INVALID_ARGUMENT. */
  async update(
    caller: Caller,
    tenantId: string,
    name: string,
    { ifRevision, ...change }: ClusterChange & Expecting,
  ): Promise<Cluster> {
    const row = await commit(this.runtime, async (manager) => {
      const before = await lockClusterByName(manager, tenantId, name);
      expectRevision(`the cluster ${name}`, revisionOf(settingsOf(before)), ifRevision);
      const asked = Object.entries(change).filter(([, value]) => value !== undefined);
      const labels = changedLabels(before.labels, change.labels);
      const settings = { ...settingsOf(before), ...(Object.fromEntries(asked) as Partial<Settings>), labels };
      if (isDeepStrictEqual(settings, settingsOf(before))) return before;
      refuseTogether(settings);
      await changeSettings(manager, before.id, settings);
      const event = { ...about(caller, before), name, ...toldOf(settings) };
      await tell(this.runtime, manager, 'dev.fairlead.cluster.changed.v1', event);
      return { ...before, ...settings };
    });
    return this.#show(row);
  }

  /** As many as fit in an answer, of the next thousand; `next` is the name to go on after. */
  async list(
    tenantId: string,
    { after = '', names, ...filter }: ClusterListing = {},
  ): Promise<{ clusters: Cluster[]; next?: string }> {
    const range = { tenantId, after, names, limit: PAGE_ROWS };
    const rows = await read(this.runtime, (manager) => listClusters(manager, range));
    const meant = rows.map((row) => this.#show(row)).filter(clusterFilter(filter));
    const clusters = fitPage(meant);
    if (clusters.length < meant.length) return { clusters, next: clusters.at(-1)?.name ?? after };
    const last = rows.at(-1);
    return last && rows.length === PAGE_ROWS ? { clusters, next: last.name } : { clusters };
  }

  async get(tenantId: string, name: string): Promise<Cluster> {
    return this.#show(await read(this.runtime, (manager) => findClusterByName(manager, tenantId, name)));
  }

  /**
   * Certificates of all enrolments so far, unused tokens, agents that wait with one, links that nobody fetched. Its agent comes back with a new import
   * manifest only. Tokens go first, so that nobody enrols in between; if `keys` is away after that, asking again finishes it.
   */
  async revoke(caller: Caller, tenantId: string, name: string, reason: string): Promise<Cluster> {
    const row = await commit(this.runtime, async (manager) => {
      // Whoever enrols at this moment holds the same lock: its enrolment is among those that end.
      const cluster = await lockClusterByName(manager, tenantId, name);
      const { id } = cluster;
      await revokeUnusedTokens(manager, id, this.runtime.now());
      await deleteUnspentLinks(manager, id);
      const why = 'the cluster was revoked';
      await turnAway(this.runtime, manager, { clusterId: id }, { actor: actorOf(caller), why });
      const event = { ...about(caller, cluster), name, throughGeneration: cluster.lastGeneration, why: reason };
      await tell(this.runtime, manager, 'dev.fairlead.cluster.revoked.v1', event);
      return cluster;
    });
    await this.revokeGenerations(tenantId, { clusterId: row.id, throughGeneration: row.lastGeneration, reason });
    return this.#show(row);
  }

  /**
   * Its certificates end first, so that no link outlives it, and no rotation of a root waits for it. REVISION_CONFLICT. UNAVAILABLE if `keys` is away:
   * the cluster is still there then, and asking again finishes it.
   */
  async delete(caller: Caller, tenantId: string, name: string, { ifRevision }: Expecting = {}): Promise<void> {
    for (let attempt = 0; attempt < DELETE_ATTEMPTS; attempt += 1) {
      const seen = await read(this.runtime, (manager) => findClusterByName(manager, tenantId, name));
      const { id, lastGeneration } = seen;
      expectRevision(`the cluster ${name}`, revisionOf(settingsOf(seen)), ifRevision);
      // Certificates begin with the first enrolment.
      if (lastGeneration > 0) {
        const reason = 'the cluster was deleted';
        const request = { clusterId: id, throughGeneration: lastGeneration, reason, clusterDeleted: true };
        await this.revokeGenerations(tenantId, request);
      }
      if (await this.#deleteOf(caller, tenantId, { name, id, lastGeneration }, ifRevision)) return;
    }
    throw new FairleadError('CONFLICT', `the cluster ${name} enrols again and again; try again`);
  }

  /** False if it has enrolled again since, or is another one by now. */
  #deleteOf(
    caller: Caller,
    tenantId: string,
    seen: Pick<StoredCluster, 'name' | 'id' | 'lastGeneration'>,
    ifRevision: Expecting['ifRevision'],
  ): Promise<boolean> {
    return commit(this.runtime, async (manager) => {
      // Whoever enrols or mints a token at this moment holds the same lock.
      const cluster = await lockCluster(manager, seen.id);
      if (cluster?.lastGeneration !== seen.lastGeneration) return false;
      expectRevision(`the cluster ${seen.name}`, revisionOf(settingsOf(cluster)), ifRevision);
      await forgetCluster(manager, tenantId, cluster.id);
      const why = 'the cluster was deleted';
      await turnAway(this.runtime, manager, { clusterId: cluster.id }, { actor: actorOf(caller), why });
      await deleteCluster(manager, cluster.id);
      const event = { ...about(caller, cluster), name: cluster.name };
      await tell(this.runtime, manager, 'dev.fairlead.cluster.deleted.v1', event);
      return true;
    });
  }

  #show(row: StoredCluster): Cluster {
    const { id, tenantId, name, labels, links, targets, egress, gitops, manifestValues, generation } = row;
    const enrolledAt = row.enrolledAt?.toISOString() ?? null;
    const createdAt = row.createdAt.toISOString();
    const presence = { ...this.presenceOf(id, enrolledAt), lastError: row.lastError };
    const facts = row.facts && knownFacts(row.facts);
    const asked = { id, tenantId, name, labels, links, targets, egress, gitops, manifestValues };
    return { ...asked, generation, createdAt, enrolledAt, facts, presence, revision: revisionOf(settingsOf(row)) };
  }
}

type Settings = Pick<StoredCluster, 'labels' | 'links' | 'targets' | 'egress' | 'gitops' | 'manifestValues'>;

/** What people say of it. */
function settingsOf({ labels, links, targets, egress, gitops, manifestValues }: Settings): Settings {
  return { labels, links, targets, egress, gitops, manifestValues };
}

/** As an event tells them: of the values, which ones there are. */
function toldOf({ manifestValues, ...settings }: Settings) {
  return { ...settings, manifestValues: Object.keys(manifestValues).sort() };
}

/** In the network of a node no policy says who may come to a port: what leads out of the cluster would be open to all who reach the node. */
function refuseTogether({ egress, manifestValues }: Pick<Settings, 'egress' | 'manifestValues'>): void {
  if (egress.length === 0 || manifestValues.hostNetwork !== true) return;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    'manifestValues.hostNetwork: not together with egress, whose ports would be open to whoever reaches the node',
  );
}

function about(caller: Caller, { tenantId, id: clusterId }: StoredCluster) {
  return { tenantId, clusterId, subject: `cluster/${clusterId}`, actor: actorOf(caller), reason: 'OK' };
}
