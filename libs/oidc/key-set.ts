import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';

/** Of one set: more are not looked at, so that no token costs more tries than this. */
const MAX_KEYS = 64;
const MIN_RSA_BITS = 2_048;
const MAX_RSA_BITS = 8_192;

/** A key that an issuer signs with. */
export interface IssuerKey {
  readonly kid: string | null;
  /** The algorithms that it may be used with. */
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
}

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
/** By JWK `kty` and `crv` (https://www.iana.org/assignments/jose). Nothing symmetric, and no `none`: who knows the key could sign. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA,
  'EC P-256': ['ES256'],
  'EC P-384': ['ES384'],
  'EC P-521': ['ES512'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
};
/** All algorithms that a token may be signed by. */
export const SIGNATURE_ALGORITHMS: readonly string[] = [...new Set(Object.values(ALGORITHMS).flat())];

const Jwk = z.looseObject({
  kty: z.string(),
  crv: z.string().optional(),
  kid: z.string().max(512).optional(),
  alg: z.string().optional(),
  use: z.string().optional(),
  key_ops: z.array(z.string()).optional(),
});
const JwkSet = z.object({ keys: z.array(z.unknown()) });

/**
 * The keys of a JWK set (RFC 7517) that verify signatures; whatever else is in it is left out. Of a key whose private part is published too, anybody
 * could have made the signature: it is none. Throws RangeError for what is no JWK set.
 */
export function readKeySet(value: unknown): IssuerKey[] {
  const set = JwkSet.safeParse(value);
  if (!set.success) throw new RangeError('it is no JWK set');
  return set.data.keys.slice(0, MAX_KEYS).flatMap((jwk) => readKey(jwk) ?? []);
}

/** The keys that a token with this header may have been signed by. Without a `kid` the only one that fits; several could be anybody's guess. */
export function keysFor(keys: readonly IssuerKey[], kid: string | undefined, algorithm: string): IssuerKey[] {
  const fit = keys.filter(({ algorithms }) => algorithms.includes(algorithm));
  if (kid !== undefined) return fit.filter((key) => key.kid === kid);
  return fit.length === 1 ? fit : [];
}

function readKey(value: unknown): IssuerKey | null {
  const parsed = Jwk.safeParse(value);
  if (!parsed.success || !isForSignatures(parsed.data)) return null;
  const { kty, crv, kid = null, alg } = parsed.data;
  const known = ALGORITHMS[kty === 'RSA' ? kty : `${kty} ${crv}`] ?? [];
  const algorithms = known.filter((algorithm) => alg === undefined || alg === algorithm);
  const key = algorithms.length === 0 ? null : publicKey(parsed.data);
  return key && { kid, algorithms, key };
}

function isForSignatures({ use, key_ops: operations, ...jwk }: z.infer<typeof Jwk>): boolean {
  if ('d' in jwk || 'k' in jwk) return false;
  return (use === undefined || use === 'sig') && (operations === undefined || operations.includes('verify'));
}

function publicKey(jwk: z.infer<typeof Jwk>): KeyObject | null {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
    const bits = key.asymmetricKeyDetails?.modulusLength;
    return bits === undefined || (bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS) ? key : null;
  } catch {
    // A key that OpenSSL does not take is as good as none.
    return null;
  }
}
