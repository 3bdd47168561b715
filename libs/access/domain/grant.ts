import { groupOfRole, type AccessRule } from '@fairlead/access-rules';
import {
  grantsKeys,
  isApiRole,
  isInForce,
  UserName,
  userOfSubject,
  type ApiRole,
  type Grant,
  type GrantEntry,
  type GrantsEntry,
  type NewGrant,
  type Subject,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { parseTargetRule } from '@fairlead/targets';

/** Of one subject, in force or not yet. */
export const MAX_GRANTS = 256;
/** As JSON, so that an event of it, and a page with it, can be sent. */
const MAX_GRANT_BYTES = 16_384;
/** Of all that doors know of one subject: less than a bucket takes, whatever a later version adds to it. */
const MAX_ENTRY_BYTES = 60_000;

/** INVALID_ARGUMENT for a grant that could mean nothing, or something else than it says; TOO_LARGE above 16 KiB. */
export function checkNewGrant(grant: NewGrant, now: Date): void {
  const wrong =
    wrongName(grant) ??
    wrongTimes(grant, now) ??
    (grant.subject.kind === 'client' ? wrongOfClient(grant) : (wrongTargets(grant) ?? wrongRole(grant)));
  if (wrong !== null) throw new FairleadError('INVALID_ARGUMENT', wrong);
  if (bytesOf(grant) > MAX_GRANT_BYTES) {
    throw new FairleadError('TOO_LARGE', `a grant is at most ${MAX_GRANT_BYTES} bytes: make several of it`);
  }
}

/** As statements and lists of revoked ones carry it, which is with what comes before the names of its kind. */
function wrongName({ subject }: NewGrant): string | null {
  return UserName.safeParse(userOfSubject(subject)).success ? null : `the name of the ${subject.kind} is too long`;
}

function wrongRole(grant: NewGrant): string | null {
  return (isApiRole(grant.role) ? wrongApiRole(grant, grant.role) : null) ?? wrongEffect(grant);
}

function wrongTargets({ targets }: NewGrant): string | null {
  return targets === undefined
    ? null
    : 'targets are for a client of the CONNECT door: people and tokens come by another one';
}

/** A client has no identity in a cluster, so a role would mean nothing; and a denial that names a target could be got round by its address. */
function wrongOfClient({ effect, role, groups, narrowing, impersonate, targets }: NewGrant): string | null {
  const ofRole = role !== null || groups.length > 0 || impersonate !== undefined || Object.keys(narrowing).length > 0;
  if (ofRole) return 'a grant to a client says targets, and no role, groups or narrowing';
  if (effect === 'deny') return targets ? 'a denial to a client is of all targets: leave them out' : null;
  for (const target of targets ?? []) parseTargetRule(target);
  return targets ? null : 'a grant to a client needs targets';
}

function wrongTimes({ notBefore, expiresAt }: NewGrant, now: Date): string | null {
  if (expiresAt === null) return null;
  const endMs = Date.parse(expiresAt);
  if (endMs <= now.getTime()) return 'a grant has to end in the future';
  return notBefore !== null && Date.parse(notBefore) >= endMs ? 'a grant has to begin before it ends' : null;
}

function wrongApiRole({ clusters, narrowing, groups, impersonate }: NewGrant, role: ApiRole): string | null {
  if (!('all' in clusters)) return `a grant of the role ${role} is for all clusters`;
  if (Object.keys(narrowing).length > 0) return `a grant of the role ${role} takes no narrowing`;
  const inClusters = groups.length > 0 || impersonate !== undefined;
  return inClusters ? `the role ${role} gives nothing in clusters: make another grant for that` : null;
}

function wrongEffect({ effect, role, groups, impersonate }: NewGrant): string | null {
  if (effect === 'allow') return role === null && groups.length === 0 ? 'a grant needs a role or groups' : null;
  const gives = (role !== null && !isApiRole(role)) || groups.length > 0 || impersonate !== undefined;
  return gives ? 'a grant that denies takes no role and no groups: all that its narrowing holds is refused' : null;
}

/** What a grant says in each cluster that it means; null for a role of the admin API, which means none. */
export function ruleOf({ id, effect, role, groups, narrowing, impersonate }: Grant): AccessRule | null {
  if (isApiRole(role)) return null;
  const all = effect === 'deny' ? [] : [...(role === null ? [] : [groupOfRole(role)]), ...groups];
  return { grantId: id, effect, groups: all, narrowing, ...(impersonate ? { impersonate } : {}) };
}

function entryOf(grant: Grant): GrantEntry | null {
  const rule = ruleOf(grant);
  const { clusters, notBefore, expiresAt, targets } = grant;
  return rule && { rule, clusters, notBefore, expiresAt, ...(targets ? { targets } : {}) };
}

/** What doors know of one subject, by all of its grants: the same for the same grants in any order. Null: nothing. */
export function subjectEntry(tenantId: string, subject: Subject, grants: readonly Grant[]): GrantsEntry | null {
  const sorted = grants.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const entries = sorted.map(entryOf).filter((entry) => entry !== null);
  return entries.length === 0 ? null : { kind: 'subject', tenantId, subject, grants: entries };
}

/** TOO_LARGE if a subject would have more grants than doors are told of. */
export function checkSubjectFits(tenantId: string, subject: Subject, grants: readonly Grant[]): void {
  const tooMany = grants.length > MAX_GRANTS;
  if (!tooMany && bytesOf(subjectEntry(tenantId, subject, grants)) <= MAX_ENTRY_BYTES) return;
  const most = tooMany ? `${MAX_GRANTS} grants` : `${MAX_ENTRY_BYTES} bytes of grants`;
  throw new FairleadError(
    'TOO_LARGE',
    `${subject.kind} ${subject.name} has ${most} already: delete some, or grant to a group`,
  );
}

/** Are they that at the admin API of the tenant, by all grants of all that they are? As everywhere, a denial wins. */
export function givesApiRole(role: ApiRole, grants: readonly Grant[], now: Date): boolean {
  const ofApi = grants.filter((grant) => grant.role === role && isInForce(grant, now.getTime()));
  return ofApi.length > 0 && ofApi.every(({ effect }) => effect === 'allow');
}

/** The key under which doors look for a subject's grants. */
export function keyOf({ tenantId, subject }: Pick<Grant, 'tenantId' | 'subject'>): string {
  return grantsKeys.subject(tenantId, subject);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
