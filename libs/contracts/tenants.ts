import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';
import { DEFAULT_TENANT, IsoTime, TenantId } from './primitives.js';
import { Revision } from './revision.js';

/** Null: as many as the installation bears. */
const Quota = z.int().min(0).max(1_000_000).nullable();

/** How many of each a tenant may have at once. What it has beyond a lower quota stays; nothing is added. */
export const TenantQuotas = z.strictObject({
  clusters: Quota.default(null),
  /** Of the CONNECT door. */
  clients: Quota.default(null),
  /** That are neither revoked nor past their end. */
  apiTokens: Quota.default(null),
  /** That have not ended. */
  grants: Quota.default(null),
});
export type TenantQuotas = z.infer<typeof TenantQuotas>;
export type QuotaName = keyof TenantQuotas;

/** QUOTA_EXCEEDED, for whoever would add one more. */
export function quotaExceeded(tenantId: string, what: QuotaName, quota: number): FairleadError {
  return new FairleadError(
    'QUOTA_EXCEEDED',
    `the tenant ${tenantId} has all ${QUOTA_WORDS[what]} that it may have: ${quota}`,
  );
}

const QUOTA_WORDS: Readonly<Record<QuotaName, string>> = {
  clusters: 'clusters',
  clients: 'clients',
  apiTokens: 'API tokens',
  grants: 'grants',
};

/** Clusters, people and grants of one owner: nobody in it sees, or is, anything in another one. */
export const Tenant = z.object({
  name: TenantId,
  quotas: TenantQuotas,
  createdAt: IsoTime,
  /** How many it has. */
  clusters: z.int().min(0),
  clients: z.int().min(0),
  /** Of its quotas. */
  revision: Revision.default(''),
});
export type Tenant = z.infer<typeof Tenant>;

/** Before the name of an administrator of the installation who acts in another tenant: nobody there is named so. */
export const INSTALLATION_USER_PREFIX = 'installation/';

/** Whether whoever administers this tenant administers the installation, too: its CA, its endpoints, its gateways and its tenants. */
export function isOfInstallation(tenantId: string): boolean {
  return tenantId === DEFAULT_TENANT;
}
