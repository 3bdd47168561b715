import {
  INSTALLATION_USER_PREFIX,
  NO_TENANT,
  TenantId,
  isOfInstallation,
  registrationRpc,
  type Principal,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Backend } from '../feature/backend.js';

/** Names the tenant that a request is about, if it is not that of whoever asks. */
export const TENANT_HEADER = 'fairlead-tenant';
const MAX_USER_CHARACTERS = 256;

/** Whether the CA, endpoints, gateways and tenants are theirs, too. */
export function administersInstallation({ administrator, tenantId }: Principal): boolean {
  return administrator && isOfInstallation(tenantId);
}

/**
 * Who asks, in the tenant that they ask about. Administrators of the installation act in any, as administrators with a name that nobody there can have:
 * what is granted to somebody of their name there is not theirs. INVALID_ARGUMENT; FORBIDDEN to all others, whether there is such a tenant or not;
 * NOT_FOUND.
 */
export async function actingIn(
  backend: Backend,
  principal: Principal,
  header: string | string[] | undefined,
): Promise<Principal> {
  if (header === undefined || header === principal.tenantId) return principal;
  const named = TenantId.safeParse(header);
  if (!named.success) throw new FairleadError('INVALID_ARGUMENT', 'the header Fairlead-Tenant names no tenant');
  if (!administersInstallation(principal)) {
    throw new FairleadError(
      'FORBIDDEN',
      `${principal.user} is of another tenant than ${named.data}, and only administrators of the installation act in others`,
    );
  }
  const { name: tenantId } = await backend.read(registrationRpc.getTenant, NO_TENANT, { name: named.data });
  const user = `${INSTALLATION_USER_PREFIX}${principal.user}`.slice(0, MAX_USER_CHARACTERS);
  return { ...principal, tenantId, user, groups: [], subjectGroups: [] };
}
