import {
  CLIENT_USER_PREFIX,
  INSTALLATION_USER_PREFIX,
  TOKEN_USER_PREFIX,
  WORKLOAD_USER_PREFIX,
  type Issuer,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** Whom a token of an issuer is of. */
export interface LoginIdentity {
  readonly kind: 'login' | 'workload';
  /** As the issuer knows them, whatever name we give them: it must not change within a session. */
  readonly subject: string;
  readonly user: string;
  /** With the issuer's prefix, sorted. */
  readonly groups: readonly string[];
}

type Claims = Readonly<Record<string, unknown>>;

const MAX_NAME_CHARACTERS = 256;
const MAX_GROUPS = 256;
/** All of them, as they are kept for doors. */
const MAX_GROUPS_BYTES = 32_768;
/** Names that begin so are somebody else's: Kubernetes', and those that we make ourselves. */
const TAKEN = [
  'system:',
  'fairlead:',
  CLIENT_USER_PREFIX,
  INSTALLATION_USER_PREFIX,
  TOKEN_USER_PREFIX,
  WORKLOAD_USER_PREFIX,
];
const ADMINISTRATOR = 'admin';

/** Names of an issuer that must not be given to anybody: its prefix decides. */
export function isTakenName(name: string): boolean {
  return isTaken(name) || name === ADMINISTRATOR;
}

/**
 * Whom the claims of a verified token name. UNAUTHENTICATED for claims that the issuer's rules refuse, and for names that no user or group can have. None
 * is cut or left out: a rule that denies may mean the very group that would be missing.
 */
export function identityOf(issuer: Issuer, claims: Claims): LoginIdentity {
  for (const [name, pattern] of Object.entries(issuer.requiredClaims))
    if (!holds(claims[name], pattern)) throw refused(`the issuer's required claim ${name} is not as it has to be`);
  const subject = nameIn(claims['sub'], 'sub');
  const own = nameIn(claims[issuer.userClaim], issuer.userClaim);
  if (issuer.userClaim === 'email' && (claims['email_verified'] ?? true) !== true)
    throw refused('its email address is not verified');
  const kind = issuer.kind === 'workload' ? 'workload' : 'login';
  const user = prefixed(
    kind === 'workload' ? `${WORKLOAD_USER_PREFIX}${issuer.prefix}` : issuer.prefix,
    own,
    issuer.userClaim,
  );
  if (kind === 'login' && isTakenName(user)) throw refused('its user name is a reserved one');
  return { kind, subject, user, groups: groupsOf(issuer, claims) };
}

function isTaken(name: string): boolean {
  return TAKEN.some((beginning) => name.startsWith(beginning));
}

/** One group, or a list of them; none: no groups. */
function groupsOf({ prefix, groupsClaim }: Issuer, claims: Claims): string[] {
  if (areElsewhere(claims, groupsClaim))
    throw refused('its issuer left the groups out of it, as they are too many for a token');
  const claim = claims[groupsClaim];
  if (claim === undefined || claim === null) return [];
  const told: unknown[] = Array.isArray(claim) ? claim : [claim];
  if (told.length > MAX_GROUPS) throw refused(`it names more than ${MAX_GROUPS} groups`);
  const groups = told.map((group) => prefixed(prefix, nameIn(group, groupsClaim), groupsClaim));
  if (Buffer.byteLength(JSON.stringify(groups)) > MAX_GROUPS_BYTES)
    throw refused(`the names of its groups are longer than ${MAX_GROUPS_BYTES} bytes together`);
  if (groups.some(isTaken)) throw refused('it names a reserved group');
  return [...new Set(groups)].toSorted();
}

/** A distributed claim (OpenID Connect Core 1.0 §5.6.2), and how Microsoft Entra says so where it names no place. */
function areElsewhere(claims: Claims, claim: string): boolean {
  const names = claims['_claim_names'];
  const isNamed = typeof names === 'object' && names !== null && Object.hasOwn(names, claim);
  return isNamed || (claim === 'groups' && [true, 'true'].includes(claims['hasgroups'] as never));
}

function nameIn(value: unknown, claim: string): string {
  if (typeof value !== 'string' || value === '') throw refused(`its claim ${claim} has no name`);
  // Also those that turn the direction of text, or do not show: a name must look like no other.
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(value) || value.trim() !== value)
    throw refused(`its claim ${claim} has control characters`);
  return value;
}

function prefixed(prefix: string, name: string, claim: string): string {
  if (prefix.length + name.length > MAX_NAME_CHARACTERS)
    throw refused(`the name in its claim ${claim} is longer than ${MAX_NAME_CHARACTERS} characters`);
  return `${prefix}${name}`;
}

/** Is a claim this text, or does it begin with what is before the `*`? Lists and objects are not looked into. */
function holds(value: unknown, pattern: string): boolean {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return false;
  const text = String(value);
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
}

function refused(why: string): FairleadError {
  return new FairleadError('UNAUTHENTICATED', `the token is not taken: ${why}`);
}
