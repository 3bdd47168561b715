import {
  NO_TENANT,
  TenantQuotas,
  isOfInstallation,
  quotaExceeded,
  registrationRpc,
  type QuotaName,
} from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';

/** What a tenant may have. NOT_FOUND for one that is not there; UNAVAILABLE, DEADLINE_EXCEEDED. */
export type QuotasOf = (tenantId: string) => Promise<TenantQuotas>;

/** Registration knows them. Nobody is asked about the default tenant, which has none: what is granted there does not wait for another service. */
export function quotasOver(client: RpcClient): QuotasOf {
  return async (tenantId) => {
    if (isOfInstallation(tenantId)) return TenantQuotas.parse({});
    return (await client.call(registrationRpc.getTenant, NO_TENANT, { name: tenantId })).quotas;
  };
}

/** One kind of thing that a tenant may have so many of, and how many it has. */
interface Counted {
  readonly what: QuotaName;
  readonly count: (manager: EntityManager, tenantId: string) => Promise<number>;
}

/** Before one more is added: there is room for it until the transaction ends. QUOTA_EXCEEDED. */
export async function holdRoom(
  manager: EntityManager,
  tenantId: string,
  quotas: TenantQuotas,
  { what, count }: Counted,
): Promise<void> {
  const quota = quotas[what];
  if (quota === null) return;
  // Two at once would both find room for one.
  await withAdvisoryLock(manager, `quota:${what}:${tenantId}`);
  if ((await count(manager, tenantId)) < quota) return;
  throw quotaExceeded(tenantId, what, quota);
}
