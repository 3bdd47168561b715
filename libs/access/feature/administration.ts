import { grantsKeys, subjectsOf, type Principal } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { givesAdministration } from '../domain/grant.js';
import { grantsOfKeys } from '../store/grant-store.js';

interface Proven extends Pick<Principal, 'tenantId' | 'kind' | 'user'> {
  readonly subjectGroups: readonly string[];
}

/** Is the whole admin API of the tenant theirs, by their token or by a grant? */
export async function isAdministrator(manager: EntityManager, principal: Proven, now: Date): Promise<boolean> {
  if (principal.kind === 'administrator') return true;
  const keys = subjectsOf(principal).map((subject) => grantsKeys.subject(principal.tenantId, subject));
  return givesAdministration(await grantsOfKeys(manager, keys), now);
}
