import { ApiRole, grantsKeys, subjectsOf, type Principal } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { givesApiRole } from '../domain/grant.js';
import { grantsOfKeys } from '../store/grant-store.js';

interface Proven extends Pick<Principal, 'tenantId' | 'kind' | 'user'> {
  readonly subjectGroups: readonly string[];
}

/** What somebody is at the admin API of the tenant, by their token or by a grant. */
export async function apiRolesOf(manager: EntityManager, principal: Proven, now: Date): Promise<ApiRole[]> {
  if (principal.kind === 'administrator') return ['administrator'];
  const keys = subjectsOf(principal).map((subject) => grantsKeys.subject(principal.tenantId, subject));
  const grants = await grantsOfKeys(manager, keys);
  return ApiRole.options.filter((role) => givesApiRole(role, grants, now));
}
