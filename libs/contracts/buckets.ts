/** NATS KV buckets. Each has one kind of writer; history is 1. */
export const BUCKETS = {
  /** Live sessions and gateway heartbeats. Written by gateways, each below its own credential's name. */
  routes: 'fairlead-routes',
  /** Name to id and generation. Written by registration. */
  clusters: 'fairlead-clusters',
  /** Whose token is it: hashes of API tokens and logins; and sessions of people. Written by access. */
  access: 'fairlead-access',
  /** What is granted to whom, and what is locked down. Written by access. */
  grants: 'fairlead-grants',
  /** Clients of the CONNECT door and the clusters they may reach. Written by registration. */
  clients: 'fairlead-clients',
  /** Which certificates are worth nothing any more. Written by keys. */
  revocations: 'fairlead-revocations',
  /** Which access statements are worth nothing before their end, a signed list for each tenant. Written by keys. */
  statementRevocations: 'fairlead-statement-revocations',
  /** Which roots count. Written by keys. */
  trust: 'fairlead-trust',
  /** What each cluster's installer is to do, signed. Written by gitops. */
  desired: 'fairlead-desired',
  /** Git hosts and the host keys that are pinned for them. Written by keys. */
  gitHosts: 'fairlead-git-hosts',
  /** Whose keys NATS lets in as subscribers. Written by audit. */
  subscribers: 'fairlead-subscribers',
} as const;
export type Bucket = keyof typeof BUCKETS;
