import { createHash, randomUUID } from 'node:crypto';
import { BUCKETS, type AccessEntry, type ClientEntry, type ClusterEntry } from '@fairlead/contracts';
import { sha256Hex } from '@fairlead/pki';
import type { NatsConnection } from '@nats-io/transport-node';
import { deleteKv, putKv } from '@fairlead/messaging';

/** What registration would put into the buckets that gateways know everybody from. */
export interface TestDirectory {
  addCluster(name: string, generation?: number): Promise<ClusterEntry>;
  removeCluster(cluster: ClusterEntry): Promise<void>;
  /** The token. */
  addToken(principal: { user: string; groups: string[] }, expiresAt?: Date): Promise<string>;
  removeToken(token: string): Promise<void>;
  /** A client of the CONNECT door; null: every cluster of the tenant. */
  addClient(clusters: readonly ClusterEntry[] | null): Promise<ClientEntry>;
  /** Changes one that is there. */
  putClient(client: ClientEntry): Promise<void>;
  removeClient(client: ClientEntry): Promise<void>;
}

/** `nc` is registration's. */
export function testDirectory(nc: NatsConnection): TestDirectory {
  const tokenKeys = new Map<string, string>();
  const putClient = (entry: ClientEntry): Promise<void> =>
    putKv(nc, BUCKETS.clients, `default.${entry.clientId}`, entry);
  return {
    addCluster: async (name, generation = 1) => {
      const entry: ClusterEntry = { tenantId: 'default', clusterId: randomUUID(), name, generation };
      await putKv(nc, BUCKETS.clusters, `default.${entry.clusterId}`, entry);
      return entry;
    },
    removeCluster: ({ clusterId }) => deleteKv(nc, BUCKETS.clusters, `default.${clusterId}`),
    addToken: async (principal, expiresAt) => {
      const token = sha256Hex(randomUUID());
      const tokenHash = createHash('sha256').update(token).digest('base64');
      const tokenId = randomUUID();
      const expiry = { expiresAt: expiresAt?.toISOString() ?? null };
      const entry: AccessEntry = { ...principal, ...expiry, tenantId: 'default', tokenId, tokenHash };
      tokenKeys.set(token, `default.token.${tokenId}`);
      await putKv(nc, BUCKETS.access, `default.token.${tokenId}`, entry);
      return token;
    },
    removeToken: (token) => deleteKv(nc, BUCKETS.access, tokenKeys.get(token) ?? ''),
    addClient: async (clusters) => {
      const clientId = randomUUID();
      const clusterIds = clusters?.map((cluster) => cluster.clusterId) ?? null;
      const entry: ClientEntry = { tenantId: 'default', clientId, name: `client-${clientId.slice(0, 8)}`, clusterIds };
      await putClient(entry);
      return entry;
    },
    putClient,
    removeClient: ({ clientId }) => deleteKv(nc, BUCKETS.clients, `default.${clientId}`),
  };
}
