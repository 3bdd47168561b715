import { systemClock, type Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import { decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from 'jose';
import type { IssuerKeys } from './issuer-keys.js';
import { SIGNATURE_ALGORITHMS } from './key-set.js';

const MAX_TOKEN_BYTES = 16_384;
/** How far the clocks of an issuer and ours may be apart. */
export const TOKEN_LEEWAY_SECONDS = 60;
/** `typ` of tokens that say who somebody is; `at+jwt` (RFC 9068), `logout+jwt` and others are for something else. */
const TYPES = new Set(['jwt', 'application/jwt', 'jose']);

export interface ExpectedToken {
  /** `iss`, to the letter. */
  readonly issuer: string;
  /** Has to be in `aud`. */
  readonly audience: string;
  /** How long after its issue it is taken, in seconds, if it has not expired before. */
  readonly maxAgeSeconds: number;
  /** May others be in `aud` too? Then `azp` has to be our audience: it was issued to us. Else any of them could use it here. */
  readonly sharedAudience: 'if-issued-to-us' | 'refused';
}

export interface VerifiedToken {
  readonly claims: Readonly<JWTPayload>;
  readonly issuedAtMs: number;
}

/**
 * Verifies a JWT that an issuer signed. UNAUTHENTICATED says what is wrong with it and nothing of its contents; UNAVAILABLE: the issuer's keys cannot be
 * had.
 */
export async function verifyToken(
  token: string,
  keys: IssuerKeys,
  expected: ExpectedToken,
  clock: Clock = systemClock,
): Promise<VerifiedToken> {
  if (token.length > MAX_TOKEN_BYTES) throw refused(`it is longer than ${MAX_TOKEN_BYTES} bytes`);
  const { kid, alg } = readHeader(token);
  let last = refused('nothing vouches for it');
  for (const { key } of await keys.find(kid, alg)) {
    try {
      const { payload } = await jwtVerify(token, key, joseOptions(expected, clock.nowMs()));
      return checkClaims(payload, expected);
    } catch (error) {
      last = asRefusal(error);
    }
  }
  throw last;
}

/** What is under the signature. Unlike the whole token it cannot be written in another way: some signatures can. */
export function signedPart(token: string): string {
  return token.slice(0, token.lastIndexOf('.'));
}

function readHeader(token: string): { kid: string | undefined; alg: string } {
  let header;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    throw refused('it is no signed JWT');
  }
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string' || !SIGNATURE_ALGORITHMS.includes(alg))
    throw refused('it is not signed by an algorithm with a public key that is taken here');
  if (kid !== undefined && typeof kid !== 'string') throw refused('its key id is no text');
  if (typ !== undefined && (typeof typ !== 'string' || !TYPES.has(typ.toLowerCase())))
    throw refused('it is of another type than a token that says who somebody is');
  return { alg, kid };
}

function joseOptions({ issuer, audience, maxAgeSeconds }: ExpectedToken, nowMs: number) {
  return {
    algorithms: [...SIGNATURE_ALGORITHMS],
    issuer,
    audience,
    clockTolerance: TOKEN_LEEWAY_SECONDS,
    // Also has `iat` not lie in the future.
    maxTokenAge: maxAgeSeconds,
    currentDate: new Date(nowMs),
    requiredClaims: ['exp', 'iat', 'sub'],
  };
}

/** What jose leaves to its caller. */
function checkClaims(claims: JWTPayload, { audience, sharedAudience }: ExpectedToken): VerifiedToken {
  const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  const azp = claims['azp'];
  if (audiences.length > 1 && (sharedAudience === 'refused' || azp !== audience))
    throw refused('it is for others too, who could use it here');
  if (azp !== undefined && sharedAudience === 'if-issued-to-us' && azp !== audience)
    throw refused('it was issued to another client');
  return { claims, issuedAtMs: (claims.iat ?? 0) * 1_000 };
}

const CLAIM_REASONS: Readonly<Record<string, string>> = {
  iss: 'it is of another issuer',
  aud: 'it is for another audience',
  exp: 'it has expired',
  nbf: 'it is not valid yet',
  iat: 'it was issued too long ago, or in the future',
  sub: 'it does not say whom it is of',
};

function asRefusal(error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  if (error instanceof errors.JWTExpired && error.claim === 'exp') return refused('it has expired');
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
    return refused(CLAIM_REASONS[error.claim] ?? 'a claim is not as it has to be');
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return refused('its signature is not by the key that it names');
  return refused('it is no signed JWT that is taken here');
}

function refused(why: string): FairleadError {
  return new FairleadError('UNAUTHENTICATED', `the token is not taken: ${why}`);
}
