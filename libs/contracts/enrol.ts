import { z } from 'zod';
import { Facts } from './facts.js';
import { Base64 } from './primitives.js';

/** Base64 of 64 bytes, which is more than a secret has. */
const SHORT = 88;

/** What a gateway passes on of an agent that asks for an identity. */
export const Enrol = z
  .object({
    /** Null: it has no token, and asks to be adopted. */
    tokenId: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'expected the id of a token')
      .nullable(),
    /** The token's, from an agent that makes no proof; empty without a token. */
    secret: z.base64().max(SHORT).optional(),
    /** In its place: a signature over the request by a key that only who has the secret can derive. */
    proof: z.base64().length(SHORT).optional(),
    /** PKCS#10. */
    csr: Base64,
    facts: Facts,
    remoteAddress: z.string().max(64),
  })
  .refine(({ secret, proof }) => (secret === undefined) !== (proof === undefined), 'give a secret or a proof, not both')
  .refine(({ tokenId, proof }) => tokenId !== null || proof === undefined, 'without a token there is nothing to prove');
export type Enrol = z.infer<typeof Enrol>;
