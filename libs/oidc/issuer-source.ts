import { FairleadError } from '@fairlead/errors';
import { readKeySet } from './key-set.js';

/** Where an issuer's keys come from. */
export interface IssuerSource {
  /** `iss` of its tokens, to the letter; discovery is below it. */
  readonly url: string;
  /** Only these authorities are then trusted for it, and not the system's. PEM; null: the system's. */
  readonly certificateAuthority: string | null;
  /** Its keys, instead of discovery. */
  readonly jwks: unknown;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Throws INVALID_ARGUMENT for an issuer that could not be asked, or whose keys are none that we take. */
export function checkIssuer({ url, jwks }: IssuerSource): void {
  if (!isAskable(url) || new URL(url).search !== '')
    throw new FairleadError(
      'INVALID_ARGUMENT',
      'an issuer has an https URL without user, query and fragment; http only on loopback',
    );
  if (jwks === null) return;
  if (readKeySet(jwks).length === 0)
    throw new FairleadError(
      'INVALID_ARGUMENT',
      'there is no public key to verify signatures by among the keys of the issuer',
    );
}

/** May we send a request there? By https, or to this machine. */
export function isAskable(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (username !== '' || password !== '' || hash !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname));
}

/** Where OpenID Connect Discovery 1.0 §4 has an issuer's document. */
export function discoveryUrl(issuer: string): URL {
  return new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
}
