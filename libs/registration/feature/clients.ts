import { pageOf, type Caller, type Client, type Issued } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { checkCsr } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import {
  deleteClient,
  ensureClient,
  listClients,
  lockClient,
  markCertified,
  type StoredClient,
} from '../store/client-store.js';
import { clusterNames, shareClustersByName } from '../store/cluster-store.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

const PAGE_ROWS = 200;

interface CreateClientInput {
  readonly name: string;
  /** Names; null: every cluster. */
  readonly clusters: readonly string[] | null;
  /** PKCS#10, base64. */
  readonly csr: string;
}

/** Asks the keys service for the certificate of a client. */
export type SignClient = (tenantId: string, request: { clientId: string; csr: string }) => Promise<Issued>;

/** Programs that come to the CONNECT door, and the clusters they may reach. */
export class Clients {
  constructor(
    private readonly runtime: Runtime,
    private readonly signClient: SignClient,
  ) {}

  /**
   * Registers a client, then fetches its certificate: when that fails, the same request may be made again. A known client
   * with the same clusters gets a certificate for another key; those it has stay good until they expire.
   * ALREADY_EXISTS: known with other clusters; NOT_FOUND: an unknown cluster; CSR_INVALID.
   */
  async create(
    caller: Caller,
    tenantId: string,
    input: CreateClientInput,
  ): Promise<{ client: Client; chain: string[]; roots: string[] }> {
    await checkCsr(Buffer.from(input.csr, 'base64'));
    const { id, name } = await commit(this.runtime, (manager) => this.#ensure(manager, caller, tenantId, input));
    const { chain, roots, serial, notAfter } = await this.signClient(tenantId, { clientId: id, csr: input.csr });
    const client = await commit(this.runtime, async (manager) => {
      const row = await lockClient(manager, tenantId, name);
      if (row.id !== id) throw new FairleadError('CONFLICT', `the client ${name} was deleted meanwhile`);
      await markCertified(manager, id, new Date(notAfter));
      await tell(this.runtime, manager, 'dev.fairlead.client.certified.v1', {
        ...about(caller, row),
        serial,
        notAfter,
      });
      return show({ ...row, notAfter: new Date(notAfter) }, await clusterNames(manager, row.clusterIds ?? []));
    });
    return { client, chain, roots };
  }

  /** As many as fit in an answer; `next` is the name to go on after. */
  async list(tenantId: string, after = ''): Promise<{ clients: Client[]; next?: string }> {
    return read(this.runtime, async (manager) => {
      const rows = await listClients(manager, tenantId, after, PAGE_ROWS);
      const names = await clusterNames(manager, [...new Set(rows.flatMap(({ clusterIds }) => clusterIds ?? []))]);
      const all = rows.map((row) => show(row, names));
      const { items: clients, ...next } = pageOf(all, PAGE_ROWS, ({ name }) => name);
      return { clients, ...next };
    });
  }

  /** Gateways forget it, so that none of its certificates is worth anything. NOT_FOUND. */
  async delete(caller: Caller, tenantId: string, name: string): Promise<void> {
    await commit(this.runtime, async (manager) => {
      const client = await lockClient(manager, tenantId, name);
      await deleteClient(manager, client.id);
      await tell(this.runtime, manager, 'dev.fairlead.client.deleted.v1', about(caller, client));
    });
  }

  async #ensure(
    manager: EntityManager,
    caller: Caller,
    tenantId: string,
    { name, clusters }: CreateClientInput,
  ): Promise<StoredClient> {
    const clusterIds = clusters && (await idsOf(manager, tenantId, clusters));
    const { client, created } = await ensureClient(manager, { tenantId, name, clusterIds });
    if (created) {
      const event = { ...about(caller, client), clusterIds };
      await tell(this.runtime, manager, 'dev.fairlead.client.created.v1', event);
    } else if (JSON.stringify(client.clusterIds) !== JSON.stringify(clusterIds)) {
      throw new FairleadError('ALREADY_EXISTS', `a client named ${name} exists already, for other clusters`);
    }
    return client;
  }
}

/** The ids of clusters, sorted. NOT_FOUND names those that there are not. */
async function idsOf(manager: EntityManager, tenantId: string, names: readonly string[]): Promise<string[]> {
  const clusters = await shareClustersByName(manager, tenantId, names);
  const known = new Set(clusters.map(({ name }) => name));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) throw new FairleadError('NOT_FOUND', `there is no cluster named ${unknown.join(', ')}`);
  return clusters.map(({ id }) => id).toSorted();
}

function show(row: StoredClient, names: ReadonlyMap<string, string>): Client {
  const { id, tenantId, name, clusterIds } = row;
  // Whatever was deleted between the two reads is no longer theirs either.
  const clusters = clusterIds && clusterIds.flatMap((clusterId) => names.get(clusterId) ?? []).toSorted();
  const createdAt = row.createdAt.toISOString();
  return { id, tenantId, name, clusters, createdAt, notAfter: row.notAfter?.toISOString() ?? null };
}

function about(caller: Caller, { tenantId, id: clientId, name }: StoredClient) {
  return { tenantId, clientId, name, subject: `client/${clientId}`, actor: actorOf(caller), reason: 'OK' };
}
