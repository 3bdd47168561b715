import { NO_TENANT } from '@fairlead/contracts';
import type { LinkEndpoint } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import { LinkEndpointRow } from './entities.js';

/** Where agents are to reach gateways, by address. */
export async function allEndpoints(manager: EntityManager): Promise<LinkEndpoint[]> {
  const rows = await manager.find(LinkEndpointRow, { order: { address: 'ASC' } });
  return rows.map(({ address, serverName, region, weight, state }) => ({
    address,
    ...(serverName === null ? {} : { serverName }),
    ...(region === null ? {} : { region }),
    weight,
    state,
  }));
}

/** A new one, or something else of one that is there. */
export async function saveEndpoint(manager: EntityManager, endpoint: LinkEndpoint): Promise<void> {
  const { serverName = null, region = null, ...rest } = endpoint;
  await manager.upsert(LinkEndpointRow, { ...rest, serverName, region, tenantId: NO_TENANT }, ['address']);
}

export async function deleteEndpoint(manager: EntityManager, address: string): Promise<void> {
  await manager.delete(LinkEndpointRow, { address });
}
