import { BUCKETS, ClientEntry, ClusterEntry } from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import { allClients } from '../store/client-store.js';
import { allClusters } from '../store/cluster-store.js';

/** What gateways know of this service's tables. */
export const REGISTRATION_BUCKETS: readonly ProjectedBucket[] = [
  {
    bucket: BUCKETS.clusters,
    schema: ClusterEntry,
    rows: async (manager) => new Map((await allClusters(manager)).map(toClusterEntry)),
  },
  {
    bucket: BUCKETS.clients,
    schema: ClientEntry,
    rows: async (manager) => new Map((await allClients(manager)).map(toClientEntry)),
  },
];

function toClusterEntry(row: Awaited<ReturnType<typeof allClusters>>[number]): [string, ClusterEntry] {
  const { id: clusterId, tenantId, name, generation, labels, manifestValues } = row;
  const { requireStatements } = manifestValues;
  const entry = { tenantId, clusterId, name, generation, labels, requireStatements };
  return [`${tenantId}.${clusterId}`, ClusterEntry.parse(entry)];
}

function toClientEntry(row: Awaited<ReturnType<typeof allClients>>[number]): [string, ClientEntry] {
  const { id: clientId, tenantId, name, clusterIds } = row;
  return [`${tenantId}.${clientId}`, ClientEntry.parse({ tenantId, clientId, name, clusterIds })];
}
