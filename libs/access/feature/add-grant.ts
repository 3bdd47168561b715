import { BUCKETS, type Grant, type TenantQuotas } from '@fairlead/contracts';
import { markChanged, tell, type Actor, type ServiceRuntime } from '@fairlead/events';
import { withAdvisoryLock } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { checkSubjectFits, keyOf } from '../domain/grant.js';
import { revokedByDenial } from '../domain/revoked.js';
import { countGrants, grantsOfKeys, insertGrant } from '../store/grant-store.js';
import { addRevoked } from '../store/revocation-store.js';
import { holdRoom } from './tenant-quotas.js';

/** Makes a grant in the caller's transaction, for doors and readers of events alike. TOO_LARGE if its subject has too many; QUOTA_EXCEEDED. */
export async function addGrant(
  runtime: ServiceRuntime,
  manager: EntityManager,
  actor: Actor,
  { grant, quotas }: { readonly grant: Grant; readonly quotas: TenantQuotas },
): Promise<void> {
  const { tenantId, subject, narrowing, impersonate, targets, notBefore, expiresAt, reason: why } = grant;
  const key = keyOf(grant);
  await holdRoom(manager, tenantId, quotas, { what: 'grants', count: countGrants });
  // Two at once would both find room for one.
  await withAdvisoryLock(manager, `grants:${key}`);
  checkSubjectFits(tenantId, subject, [...(await grantsOfKeys(manager, [key])), grant]);
  await insertGrant(manager, grant);
  await markChanged(manager, BUCKETS.grants, [key]);
  await addRevoked(manager, tenantId, revokedByDenial(grant, runtime.now()));
  const event = { ...aboutGrant(grant, actor), narrowing, impersonate, targets, notBefore, expiresAt, why };
  await tell(runtime, manager, 'dev.fairlead.grant.created.v1', event);
}

/** What all events of a grant say. */
export function aboutGrant(grant: Grant, actor: Actor) {
  const { id: grantId, tenantId, subject: grantee, effect, clusters, role, groups, requestId } = grant;
  const what = { grantId, grantee, effect, clusters, role, groups, requestId };
  return { tenantId, subject: `grant/${grantId}`, actor, reason: 'OK', ...what };
}
