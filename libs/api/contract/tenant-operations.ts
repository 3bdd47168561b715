import { Tenant as TenantFields, TenantId, TenantQuotas as QuotaFields } from '@fairlead/contracts';
import { z } from 'zod';
import { empty, json, operationsOf } from './operation.js';

export const Tenant = TenantFields.describe('An owner of clusters, apart from all others of the installation.');
export const TenantQuotas = QuotaFields.describe('How much it may have. Null, and what is left out: without a limit.');
export const NewTenant = z
  .strictObject({ name: TenantId, quotas: TenantQuotas.prefault({}) })
  .describe('A tenant to make.');
export const TenantList = z.object({
  tenants: z.array(Tenant).max(500).describe('By name.'),
  next: TenantId.optional().describe('There may be more: ask again with it as `after`.'),
});
export type TenantList = z.infer<typeof TenantList>;

const ByName = z.strictObject({ name: TenantId });
const next = { NOT_FOUND: 'see which there are: fairlead tenant list' };

/** Tenants are the installation's to make. Whoever administers one does all else within it. */
export const tenantOperations = operationsOf('tenants', {
  createTenant: {
    route: 'POST /v1/tenants',
    summary: 'Make a tenant',
    description:
      'Nobody is in it at first: act in it with the header Fairlead-Tenant, and make an API token or an issuer and a grant of the role administrator there.',
    auth: 'installation',
    body: NewTenant,
    answers: [json(201, 'Made.', Tenant)],
    errors: ['ALREADY_EXISTS', 'DEADLINE_EXCEEDED'],
    next: { ALREADY_EXISTS: 'choose another name; see which there are: fairlead tenant list' },
  },
  listTenants: {
    route: 'GET /v1/tenants',
    summary: 'List the tenants',
    auth: 'installation',
    query: z.strictObject({ after: TenantId.optional() }),
    answers: [json(200, 'Tenants by name.', TenantList)],
  },
  getTenant: {
    route: 'GET /v1/tenants/{name}',
    summary: 'Show a tenant, with its quotas and how much it has',
    auth: 'installation',
    params: ByName,
    etag: true,
    answers: [json(200, 'The tenant.', Tenant)],
    errors: ['NOT_FOUND'],
    next,
  },
  putTenantQuotas: {
    route: 'PUT /v1/tenants/{name}/quotas',
    summary: 'Set the quotas of a tenant',
    description: 'What it has beyond a lower one stays, and nothing is added.',
    auth: 'installation',
    params: ByName,
    body: TenantQuotas,
    etag: true,
    conditional: true,
    answers: [json(200, 'The tenant after it.', Tenant)],
    errors: ['NOT_FOUND', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
    next,
  },
  deleteTenant: {
    route: 'DELETE /v1/tenants/{name}',
    summary: 'Delete a tenant that has nothing left',
    description:
      'Its clusters, clients, Git hosts, repositories, bundles, assignments and subscribers are deleted first. Its tokens, logins, issuers and grants go with it, and its name is not used again. Repeating it does no harm.',
    auth: 'installation',
    params: ByName,
    answers: [empty('Deleted.')],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: { ...next, CONFLICT: 'delete what it has, in its name: fairlead --tenant NAME …' },
  },
});
