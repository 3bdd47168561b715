import { FairleadError } from '@fairlead/errors';
import { readEndpoints, writeEndpoints, type NamedEndpoints } from './link-endpoints.js';
import { parseCertificate, splitPem } from './pem.js';
import { readRevoked, writeRevoked, type RevokedGateways } from './revoked-gateways.js';
import { openStatement, signStatement, type TrustSigner } from './signed-statement.js';
import { isTrustDomain } from './spiffe-id.js';

/** Which roots count, and where gateways are, from some version on. */
export interface TrustedRoots extends RevokedGateways, NamedEndpoints {
  /** Goes up by one with each change; a lower one never replaces a higher one. */
  readonly version: number;
  readonly trustDomain: string;
  /** The root of what is issued now first; then the one that comes next, or the one that goes. 1 to 4. */
  readonly rootsPem: readonly string[];
}

/** As it travels: whoever carries it can neither add a root nor take one away. */
export interface SignedTrust {
  /** What was signed: JSON of `TrustedRoots`. */
  readonly bundle: Uint8Array;
  /** Leaf first, without the root; the leaf is the identity `service/keys`. */
  readonly signerChainPem: readonly string[];
  /** ECDSA-SHA256 by the leaf's key over a context and the bundle. */
  readonly signature: Uint8Array;
}

const MAX_BUNDLE_BYTES = 32_768;
const MAX_ROOTS = 4;
/** What else a key of the CA may ever sign does not begin so. */
const CONTEXT = 'fairlead trust bundle v1';

/** Signs roots with a key whose certificate says `service/keys`. */
export async function signTrust(roots: TrustedRoots, signer: TrustSigner): Promise<SignedTrust> {
  const { version, trustDomain, rootsPem } = roots;
  const contents = { version, trustDomain, rootsPem, ...writeRevoked(roots), ...writeEndpoints(roots) };
  const bundle = new Uint8Array(Buffer.from(JSON.stringify(contents)));
  readTrust(bundle);
  const { signerChainPem, signature } = await signStatement(CONTEXT, bundle, signer);
  return { bundle, signerChainPem, signature };
}

/**
 * The roots in a bundle that the keys service signed, by a chain that ends in a root that is trusted already. Throws
 * CERTIFICATE_REFUSED for another signer, signature, trust domain or contents, and for a version above `highestVersion` or above the holder's own
 * `highest`. That it is not older is the caller's to compare.
 */
export async function openTrust(
  signed: SignedTrust,
  held: {
    readonly rootsPem: readonly string[];
    readonly trustDomain: string;
    readonly at: Date;
    /** Absent: as high as anybody takes. */
    readonly highest?: number;
  },
): Promise<TrustedRoots> {
  const { bundle, signerChainPem, signature } = signed;
  await openStatement(CONTEXT, { document: bundle, signerChainPem, signature }, held);
  const roots = readTrust(signed.bundle);
  if (roots.trustDomain !== held.trustDomain) throw refused('it is of another trust domain');
  const highest = Math.min(held.highest ?? Infinity, highestVersion(held.at));
  if (roots.version > highest) {
    throw refused(`version ${roots.version} is too far ahead, at most ${highest} is taken at this time`);
  }
  return roots;
}

/** What a bundle says; who signed it is not looked at. CERTIFICATE_REFUSED if it cannot be read. */
export function readTrust(bundle: Uint8Array): TrustedRoots & ReturnType<typeof readRevoked> {
  if (bundle.length > MAX_BUNDLE_BYTES) throw refused(`it is larger than ${MAX_BUNDLE_BYTES} bytes`);
  return parseRoots(readJson(bundle));
}

function parseRoots({ version, trustDomain, rootsPem, endpoints, ...revoked }: Contents): ReturnType<typeof readTrust> {
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1 || version > MAX_VERSION) {
    throw refused(`its version is no number from 1 to ${MAX_VERSION}`);
  }
  if (typeof trustDomain !== 'string' || !isTrustDomain(trustDomain)) throw refused('its trust domain cannot be read');
  if (!Array.isArray(rootsPem) || rootsPem.length === 0 || rootsPem.length > MAX_ROOTS) {
    throw refused(`it does not have 1 to ${MAX_ROOTS} roots`);
  }
  return {
    version,
    trustDomain,
    rootsPem: rootsPem.map(readRoot),
    ...readRevoked(revoked),
    ...readEndpoints({ endpoints }),
  };
}

type Contents = Partial<Record<keyof TrustedRoots, unknown>>;

function readJson(bundle: Uint8Array): Contents {
  try {
    const value: unknown = JSON.parse(Buffer.from(bundle).toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch (cause) {
    throw refused('it is not JSON', cause);
  }
  throw refused('it is not a JSON object');
}

/** Exactly one certificate, of a CA: a second one behind the first would be trusted with it. */
function readRoot(pem: unknown): string {
  if (typeof pem !== 'string' || splitPem(pem).length !== 1) throw refused('a root is not one PEM certificate');
  const certificate = parseCertificate(pem);
  if (!certificate.ca) throw refused('a root is no CA');
  return `${certificate.toString().trim()}\n`;
}

function refused(why: string, cause?: unknown): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the trust bundle is refused: ${why}`, { cause });
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** No installation is older. */
const SINCE_MS = Date.UTC(2026, 0, 1);
/** Also in the first days, and where the clock says that it is earlier. */
const AT_ANY_TIME = 1_000;
/** A rotation takes three, a gateway whose certificates are revoked one: on an average over years, several times what anybody does. */
const A_DAY = 10;
/** Whatever the date: what `keys` counts by has 31 bits, and must always have room above it. Those above are reached in 2299. */
const MAX_VERSION = 1_000_000;

/**
 * The highest version of a trust bundle that anybody takes at that time, whatever they hold: 1,000, and ten for each day since 2026.
 *
 * Whoever signs by a root whose key leaked could otherwise give somebody the highest version there is, after which nothing of ours counts any
 * more. A bound that depends on what each holder has, as "so many ahead of its own", can be walked up in steps; and once it was, an honest
 * version above it is too far ahead for all those who were spared. This one is the same for everybody, also for who was away for months
 * and who holds none yet: a few hours later there is a version above any that was ever taken, and everybody takes it in one step. A clock
 * that is ahead is worth ten versions a day.
 */
export function highestVersion(at: Date): number {
  const days = Math.max(0, (at.getTime() - SINCE_MS) / DAY_MS);
  return Math.min(MAX_VERSION, AT_ANY_TIME + Math.floor(A_DAY * days));
}

/** The highest that is signed at that time: one that others take even if their clocks are behind by as much as lets them verify who signed it. */
export function highestToSign(at: Date): number {
  return highestVersion(new Date(at.getTime() - HOUR_MS));
}
