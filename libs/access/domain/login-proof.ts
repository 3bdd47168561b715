import { createHash } from 'node:crypto';
import type { Issuer } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { LoginIdentity } from './login-identity.js';

/** What a person's session remembers of its first login. */
export interface SessionProof {
  readonly issuer: string;
  readonly subject: string;
  readonly user: string;
  /** Of its first ID token; null: it had none. */
  readonly nonce: string | null;
  readonly endsAt: Date;
}

/**
 * Is an ID token of who began the login? Its nonce is the hash of a secret that only they have: whoever got hold of the token alone cannot use it. One
 * without a nonce comes of a device code, and is taken where the issuer's definition says so. Returns the nonce. UNAUTHENTICATED.
 */
export function checkFirstLogin(issuer: Issuer, nonce: unknown, verifier: string | undefined): string | null {
  if (nonce === undefined && verifier === undefined) {
    if (issuer.deviceCode) return null;
    throw refused('it has no nonce, and logins by device code are not allowed for this issuer');
  }
  if (verifier === undefined) throw refused('it was issued for a login that was begun elsewhere');
  if (typeof nonce !== 'string' || nonce !== nonceOf(verifier))
    throw refused('its nonce is not the one that the login was begun with');
  return nonce;
}

/** The `nonce` that an issuer is asked for with a verifier: SHA-256 of its text, base64url. */
export function nonceOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

/**
 * Does a fresh ID token go on with this session? It has to be of the same issuer, subject and name; its nonce, if it has one, is the first one's (OpenID
 * Connect Core 1.0 §12.2). UNAUTHENTICATED: log in anew.
 */
export function checkRenewal(
  session: SessionProof,
  issuer: Issuer,
  identity: LoginIdentity,
  nonce: unknown,
  now: Date,
): void {
  if (session.endsAt <= now) throw refused('the session has ended; log in again');
  if (session.issuer !== issuer.name || session.subject !== identity.subject || session.user !== identity.user)
    throw refused('the session is of somebody else; log in again');
  if (nonce !== undefined && nonce !== session.nonce)
    throw refused('its nonce is not the one that the session was begun with');
}

function refused(why: string): FairleadError {
  return new FairleadError('UNAUTHENTICATED', `the token is not taken: ${why}`);
}
