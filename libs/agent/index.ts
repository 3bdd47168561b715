export { runAgent, type Agent } from './agent.js';
export type { AgentOptions } from './agent-options.js';
export { identityStore, type AgentIdentity, type IdentityStore, type TextStore } from './agent-identity.js';
export { withBundle, type BundleOptions } from './identity-bundle.js';
export type { HandoverMaps } from './gitops/ports.js';
export {
  LINK_SERVER_NAME,
  parseEndpoint,
  type Endpoint,
  type ProxyCredentials,
  type ProxySettings,
} from './forward-proxy.js';
export type { KubeApiTarget } from './kube-api-proxy.js';
export type { AgentFacts } from '@fairlead/tunnel/agent';
export type { FactsFeed } from './facts/feed.js';
export { followCluster, type ClusterFactsOptions } from './facts/cluster-facts.js';
export { parseEgressPort, type EgressPort } from './egress/egress-ports.js';
export type { Resolve } from '@fairlead/tcp-targets';
