export { flushUnlessBodyFollows } from './answer-head.js';
export { bridge, type Bridged, type BridgedBytes } from './bridge.js';
export { fromConnectError, toConnectError } from './rpc-errors.js';
export { TunnelConnection } from './tunnel-connection.js';
export {
  RELAY_PATH,
  TUNNEL_PATH,
  acceptGrpcStream,
  abandonStream,
  endStream,
  isGrpc,
  rejectGrpcStream,
  requestGrpcStream,
  type GrpcStream,
} from './grpc-stream.js';
export { fitStreamWindow } from './path-window.js';
export { ReadAhead } from './read-ahead.js';
export { splice, type SplicedBytes } from './splice.js';
export { DEFAULT_KEEPALIVE, keepAlive, type KeepaliveOptions } from './keepalive.js';
export { RELAY_SESSION_OPTIONS, TUNNEL_SESSION_OPTIONS, widenConnectionWindow } from './http2-options.js';
