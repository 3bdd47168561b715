import type { Issuer } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { isTakenName } from './login-identity.js';

const MAX_ISSUERS = 32;

/**
 * May this issuer be beside the others of its tenant? INVALID_ARGUMENT: it would name others' users, or anybody's programs. ALREADY_EXISTS: it could be
 * taken for another.
 */
export function checkNewIssuer(issuer: Issuer, others: readonly Issuer[]): void {
  if (others.length >= MAX_ISSUERS)
    throw new FairleadError('INVALID_ARGUMENT', `there are ${MAX_ISSUERS} issuers already; remove one first`);
  if (isTakenName(issuer.prefix) || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(issuer.prefix))
    throw new FairleadError('INVALID_ARGUMENT', 'this prefix is reserved, or has control characters; choose another');
  // Of an issuer for all the world, such as GitHub, anybody has tokens for our audience.
  if (issuer.kind === 'workload' && Object.values(issuer.requiredClaims).every((value) => /^\*+$/.test(value)))
    throw new FairleadError(
      'INVALID_ARGUMENT',
      'a workload issuer needs required claims that say something, and not only *: whose programs are meant?',
    );
  for (const other of others) checkBeside(issuer, other);
}

function checkBeside(issuer: Issuer, other: Issuer): void {
  // `a` with the user `bob` would be `ab` with the user `ob`.
  if (issuer.prefix.startsWith(other.prefix) || other.prefix.startsWith(issuer.prefix))
    throw new FairleadError(
      'ALREADY_EXISTS',
      `the prefix of the issuer ${other.name} and this one begin alike, so that one could name the other's users`,
    );
  if (issuer.url === other.url && issuer.audience === other.audience)
    throw new FairleadError('ALREADY_EXISTS', `the issuer ${other.name} has this URL and audience already`);
}

/** What a change may leave standing: how a login is begun, and nothing of whom it is of. */
const HARMLESS = new Set<keyof Issuer>(['scopes', 'deviceCode']);

/** Could a login by the former definition be somebody else's by the new one, or nobody's? Then it ends. */
export function endsLogins(before: Issuer, after: Issuer): boolean {
  const keys = Object.keys(after) as (keyof Issuer)[];
  return keys.some((key) => !HARMLESS.has(key) && sorted(before[key]) !== sorted(after[key]));
}

/** As JSON whose keys are in order: a database keeps them in its own. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}
