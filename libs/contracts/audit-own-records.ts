import { z } from 'zod';
import { CredentialName, IsoTime, NO_TENANT } from './primitives.js';

/** Of the installation, and of no tenant: nobody had proved anything, or it is about all of them. */
const NoTenant = z.literal(NO_TENANT);

/** A gateway goes by other rules of what it puts on record; on its disk before it does. `refused`: there are new ones that cannot be read, and the ones before stay. */
export const RulesInForce = z.object({
  phase: z.literal('rules'),
  at: IsoTime,
  tenantId: NoTenant,
  /** Credential of the gateway. */
  replica: CredentialName,
  state: z.enum(['in-force', 'refused']),
  /** SHA-256 of the file, hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of those before; null: there were none, and all was put on record. */
  previousHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** How many there are; 0 of a file that cannot be read. */
  rules: z.int().min(0).max(1_000),
  /** Why it cannot be read; empty: it can. */
  why: z.string().max(512),
});
export type RulesInForce = z.infer<typeof RulesInForce>;

/** Connections to a port that ended in their handshake: all there were from `at` until `until`, for one reason. */
export const HandshakesRefused = z.object({
  phase: z.literal('handshakes'),
  at: IsoTime,
  until: IsoTime,
  tenantId: NoTenant,
  door: z.string().max(32),
  /** CERTIFICATE_REFUSED, or the code of TLS: https://nodejs.org/api/errors.html#openssl-error-codes */
  cause: z.string().max(64),
  count: z.int().min(1),
  /** Those that came most, as far as they were followed; the counts of all others are in `count` alone. */
  addresses: z.array(z.object({ address: z.string().max(64), count: z.int().min(1) })).max(10),
});
export type HandshakesRefused = z.infer<typeof HandshakesRefused>;
