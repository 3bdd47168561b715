import { z } from 'zod';
import { Base64, ClusterId, ClusterName, Generation, IsoTime, PemChain, UserName } from './primitives.js';

/** A request of an administrator for an identity; the key stays where it was made. */
export const NewIdentity = z.object({ name: ClusterName, csr: Base64, by: UserName });

/** What goes with that key. */
export const IssuedIdentity = z.object({
  cluster: ClusterName,
  clusterId: ClusterId,
  generation: Generation,
  trustDomain: z.string().max(255),
  /** `host:port` that the agent dials. */
  endpoints: z.array(z.string().max(255)).max(64),
  /** Leaf first, the issuing CA next, the root last. */
  chain: PemChain,
  /** Roots to trust, current and next. */
  roots: PemChain,
  notAfter: IsoTime,
  /** What is applied in the cluster beside a Secret that holds the identity. No secret. */
  manifest: z.string().max(65_536),
});
export type IssuedIdentity = z.infer<typeof IssuedIdentity>;
