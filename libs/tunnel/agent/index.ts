export { Link } from './link.js';
export { wireFacts } from './wire-facts.js';
export type { TcpTunnelOptions } from './tcp-tunnel.js';
export type { AgentFacts, DesiredStateEnd, GatewayConnection, KubeApiEnd, TrustEnd } from './ports.js';
