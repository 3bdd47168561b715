export { runAgent, type Agent } from './agent.js';
export type { AgentOptions } from './enrol-with-token.js';
export { identityStore, type AgentIdentity, type IdentityStore, type TextStore } from './agent-identity.js';
export { withBundle, type BundleOptions } from './identity-bundle.js';
export { parseEndpoint, type Endpoint, type ProxySettings } from './forward-proxy.js';
export type { TcpTargetOptions } from './tcp-targets.js';
export type { KubeApiTarget } from './kube-api-proxy.js';
export type { AgentFacts } from '@fairlead/tunnel/agent';
export type { Resolve } from './name-lookups.js';
