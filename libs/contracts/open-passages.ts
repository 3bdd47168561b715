import { z } from 'zod';
import { ClusterId, ClusterName, CredentialName, IsoTime, UserName } from './primitives.js';
import { TextPlace, type Place } from './place.js';
import { rpcOf } from './rpc.js';

/** The doors of a gateway replica; `libs/gateway/passage/door-table.ts` has a row for each. */
export const DoorName = z.enum(['kube-api', 'connect', 'egress']);
export type DoorName = z.infer<typeof DoorName>;

/** What goes through a door, as people tell it apart. `request`: one that is answered and over, such as a `get`; `proxy`: by a pod's, Service's or node's subresource of this name, or an upgrade to something else in a cluster; `tunnel`: of the CONNECT door; `egress`: out of a cluster. */
export const PassageKind = z.enum([
  'request',
  'watch',
  'log',
  'exec',
  'attach',
  'port-forward',
  'proxy',
  'tunnel',
  'egress',
]);
export type PassageKind = z.infer<typeof PassageKind>;

/** One passage that has not ended: who is where now, and what for. */
export const OpenPassage = z.object({
  /** Unique; of log lines and events, too. */
  id: z.string().min(1).max(64),
  kind: PassageKind,
  /** The replica whose door it goes through, and the one that holds the agent's link. */
  gateway: CredentialName,
  owner: CredentialName.nullable(),
  clusterId: ClusterId,
  cluster: ClusterName,
  /** User, client, or the cluster that it comes out of. */
  user: z.string().max(256),
  /** Whom they act as, if not as themselves. */
  as: z.string().max(256).nullable(),
  address: z.string().max(64),
  since: IsoTime,
  /** Towards the cluster, and back. */
  bytesUp: z.number().min(0),
  bytesDown: z.number().min(0),
  /** `pods/cart-0 -n shop`, `host:port` or a path; empty: not known. */
  target: z.string().max(512),
});
export type OpenPassage = z.infer<typeof OpenPassage>;

/** Which of a tenant's; all that is said has to hold. */
export const PassageFilter = z.object({
  id: OpenPassage.shape.id.optional(),
  cluster: ClusterName.optional(),
  user: UserName.optional(),
  kind: PassageKind.optional(),
});
export type PassageFilter = z.infer<typeof PassageFilter>;

/** A page of them: those that began after the place where the page before ended. */
export const PassagePage = PassageFilter.extend({ after: TextPlace.optional() });
export type PassagePage = z.infer<typeof PassagePage>;

/** Where one stands among all of them. */
export function placeOfPassage({ since, id }: Pick<OpenPassage, 'since' | 'id'>): Place {
  return { atMs: Date.parse(since), id };
}

/** In one answer: they fit into a message. */
export const MAX_PASSAGES = 150;
const PASSAGES = z.array(OpenPassage).max(MAX_PASSAGES);

/** Replicas that did not answer in time: what goes through them is not known. */
const Silent = z.array(CredentialName).max(1_000);

export const PassageList = z.object({
  /** Those that began first, first. */
  passages: PASSAGES,
  /** How many more there are after these. */
  more: z.int().min(0),
  /** There if there are more: pass it as `after`. */
  next: TextPlace.optional(),
  silent: Silent,
});
export type PassageList = z.infer<typeof PassageList>;

export const EndedPassages = z.object({ ended: z.int().min(0), silent: Silent });
export type EndedPassages = z.infer<typeof EndedPassages>;

/** Who ends them, and why: whoever is cut off is told. */
export const PassageEnd = z.object({
  by: z.string().min(1).max(256),
  reason: z.string().min(1).max(256),
});

const rpc = rpcOf('gateway');

/** What each replica answers for itself, and for one tenant. Only registration asks, which knows the replicas. */
export const gatewayRpc = {
  listPassages: rpc(
    'list-passages',
    ['registration'],
    PassagePage,
    z.object({ passages: PASSAGES, more: z.int().min(0) }),
    1_500,
  ),
  endPassages: rpc(
    'end-passages',
    ['registration'],
    PassageFilter.extend(PassageEnd.shape),
    z.object({ ended: z.int().min(0) }),
    1_500,
  ),
} as const;
