/** NATS KV buckets. Each has one kind of writer; history is 1. */
export const BUCKETS = {
  /** Live sessions and gateway heartbeats. Written by gateways, each below its own credential's name. */
  routes: 'fairlead-routes',
  /** Name to id and generation. Written by registration. */
  clusters: 'fairlead-clusters',
  /** Who may do what: hashed API tokens for now. Written by registration. */
  access: 'fairlead-access',
  /** Clients of the CONNECT door and the clusters they may reach. Written by registration. */
  clients: 'fairlead-clients',
  /** Which certificates are worth nothing any more. Written by keys. */
  revocations: 'fairlead-revocations',
  /** Which roots count. Written by keys. */
  trust: 'fairlead-trust',
  /** What each cluster's installer is to do, signed. Written by gitops. */
  desired: 'fairlead-desired',
  /** Git hosts and the host keys that are pinned for them. Written by keys. */
  gitHosts: 'fairlead-git-hosts',
} as const;
export type Bucket = keyof typeof BUCKETS;
