export { Link } from './link.js';
export {
  wireFacts,
  type AgentFacts,
  type AgentPod,
  type DesiredStateEnd,
  type GatewayConnection,
  type KubeApiEnd,
  type RevocationsEnd,
  type ShownStatement,
  type StatementEnd,
  type TrustEnd,
} from './ports.js';
export type { TcpTunnelOptions } from './tcp-tunnel.js';
export { acceptTunnel, type AcceptorOptions } from './tunnel-acceptor.js';
