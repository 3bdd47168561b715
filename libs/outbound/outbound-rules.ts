import { isIP } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import type { AddressRanges } from './address-ranges.js';
import { isPublicAddress } from './public-address.js';

/** What may be dialled for others. */
export interface OutboundRules {
  /** Addresses besides those of the public internet. */
  readonly allowed: AddressRanges;
  /** Whether http: is spoken, and then only to addresses of `allowed`. Default false. */
  readonly plaintext?: boolean;
  /** What the URL is of, for whoever reads a refusal: `the address of the bundle`. */
  readonly what: string;
}

/** May this address be dialled? `address`: what a name was resolved to, or what stood in its place. */
export function mayDial({ allowed }: OutboundRules, { protocol }: URL, address: string): boolean {
  return allowed.has(address) || (protocol === 'https:' && isPublicAddress(address));
}

/**
 * A URL that may be asked, as far as it says so itself: the addresses of a name are looked at when it is dialled (`checkedLookup`). Throws INVALID_ARGUMENT, with the
 * host at most: what is behind it may be a secret.
 */
export function checkUrl(text: string, rules: OutboundRules): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' && !(rules.plaintext === true && url?.protocol === 'http:')) {
    throw refused(rules, 'only https: is asked');
  }
  if (url.username !== '' || url.password !== '') throw refused(rules, 'it may hold no user or password');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  // Nobody resolves an address, so nobody would look at it later.
  if (isIP(host) !== 0 && !mayDial(rules, url, host)) throw refusedAddress(rules, url);
  return url;
}

export function refusedAddress(rules: OutboundRules, { hostname, protocol }: URL): FairleadError {
  const why =
    protocol === 'http:'
      ? `${hostname} is not in a range to which http: is allowed`
      : `${hostname} is not on the public internet`;
  return refused(rules, why);
}

function refused({ what }: OutboundRules, why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `${what} is refused: ${why}`);
}
