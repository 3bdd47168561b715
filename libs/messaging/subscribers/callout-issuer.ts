import { hkdfSync } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { Prefix, fromSeed, type KeyPair } from '@nats-io/nkeys';
import { Codec } from '@nats-io/nkeys/lib/codec.js';

/**
 * The account key by which `keys` tells nats-server whom it lets in (auth callout), made from the seed of its own credential: so nothing more has to be kept or handed out. Another key
 * than the credential's, since whoever connects signs what the server chooses. RFC 5869, and nkeys' encoding of a seed. INVALID_ARGUMENT: it is no seed.
 */
export function calloutIssuer(seed: string): KeyPair {
  try {
    const secret = fromSeed(new TextEncoder().encode(seed)).getSeed();
    const raw = hkdfSync('sha256', secret, '', 'fairlead nats auth callout issuer', 32);
    return fromSeed(Codec.encodeSeed(Prefix.Account, new Uint8Array(raw)));
  } catch {
    throw new FairleadError('INVALID_ARGUMENT', 'the NATS seed is not a valid nkey seed');
  }
}
