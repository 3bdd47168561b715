export { LIMITS, PROTOCOL_VERSION } from './limits.js';
export { SpareTunnels } from './spare-tunnels.js';
export { streamWindow } from './stream-window.js';
export { encodeControl, encodeDataHeader, type ControlKind } from './frame-encoder.js';
export { FrameDecoder, type FrameSink } from './frame-decoder.js';
export { PARKED, stepTunnel, type TunnelEvent, type TunnelRole, type TunnelState } from './tunnel-state.js';
export {
  asksToImpersonate,
  bodyFraming,
  fromClient,
  fromServer,
  fromTunnel,
  headerPairs,
  type BodyFraming,
  type RawHeaders,
} from './request-headers.js';
export { assertAcceptable, impersonationHeaders, type TunnelIdentity } from './impersonation.js';
export { isLongRunning, parseKubePath, type KubePath } from './kube-path.js';
export { kubeRoute } from './kube-route.js';
export { toKubeStatus, type Hop, type KubeStatus } from './kube-status.js';
export { readConnectTarget, readTargetHost, withoutTrailingDot, type TargetAddress } from './target-address.js';
export { formatTraceparent, readTraceparent, traceIdIn, type TraceContext } from './trace-context.js';
export { TargetPolicy, parseTargetRule, type TargetRule } from './target-policy.js';
export { GrpcMessageReader, encodeGrpcMessage } from './grpc-messages.js';
