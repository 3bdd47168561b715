import { z } from 'zod';
import { Base64, ClusterId, Generation, IsoTime, Pem, PemChain } from './primitives.js';
import type { Rpc } from './rpc.js';

export const Issued = z.object({
  /** Leaf first, the issuing CA next, the root last. */
  chain: PemChain,
  /** Roots to trust, current and next. */
  roots: PemChain,
  serial: z.string().max(64),
  notAfter: IsoTime,
});
export type Issued = z.infer<typeof Issued>;

export const TrustBundle = z.object({
  trustDomain: z.string().max(255),
  /** Roots of agents, gateways and services. */
  roots: PemChain,
  /** SHA-256 of each root's SubjectPublicKeyInfo, hex, in the order of `roots`. */
  pins: z.array(z.string().length(64)),
  /** Root of the certificates that people's tools see: it outlives a rotation of `roots`. */
  servingRoot: Pem,
});
export type TrustBundle = z.infer<typeof TrustBundle>;

function rpc<In extends z.ZodType, Out extends z.ZodType>(
  method: string,
  callers: Rpc['callers'],
  input: In,
  output: Out,
  timeoutMs = 5_000,
): Rpc<In, Out> {
  return { service: 'keys', method, callers, input, output, timeoutMs };
}

/** What the keys service answers. In every CSR only the key and the proof of possession count. */
export const keysRpc = {
  trustBundle: rpc('trust-bundle', ['api', 'gateway', 'registration'], z.object({}), TrustBundle),
  /** An agent's certificate, for a token that registration has checked. */
  signAgent: rpc(
    'sign-agent',
    ['registration'],
    z.object({ clusterId: ClusterId, generation: Generation, csr: Base64 }),
    Issued,
  ),
  /** A fresh key for an agent that proves it holds the current one: the gateway only carries it. */
  renewAgent: rpc('renew-agent', ['gateway'], z.object({ csr: Base64, currentChain: PemChain, proof: Base64 }), Issued),
  /** The identity `/gateway/<credential>` of the caller; the credential comes from the subject, not from the request. */
  signGateway: rpc('sign-gateway', ['gateway'], z.object({ csr: Base64 }), Issued),
  /** The identity `/client/<id>` of a program that comes to the CONNECT door. */
  signClient: rpc('sign-client', ['registration'], z.object({ clientId: z.uuid(), csr: Base64 }), Issued),
  /** A serving certificate for the names that the keys service's configuration allows. */
  signServing: rpc(
    'sign-serving',
    ['api', 'gateway'],
    z.object({ csr: Base64, names: z.array(z.string().min(1).max(253)).min(1).max(16) }),
    Issued,
  ),
} as const;
