export { bridge, dialFor, whileOpen, type Bridged, type BridgedBytes } from './bridge.js';
export { fromConnectError, toConnectError } from './rpc-errors.js';
export { TunnelConnection } from './tunnel-connection.js';
export {
  CONTROL_PATH,
  EGRESS_PATH,
  RELAY_PATH,
  TUNNEL_PATH,
  acceptGrpcStream,
  abandonStream,
  endStream,
  failGrpcStream,
  isGrpc,
  rejectGrpcStream,
  requestGrpcStream,
} from './grpc-stream.js';
export { handshake } from './handshake.js';
export { fitStreamWindow } from './path-window.js';
export { splice, type SplicedBytes } from './splice.js';
export { DEFAULT_KEEPALIVE, keepAlive, type KeepaliveOptions, type Pinged } from './keepalive.js';
export { RELAY_SESSION_OPTIONS, TUNNEL_SESSION_OPTIONS } from './http2-options.js';
