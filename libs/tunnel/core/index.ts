export { LIMITS } from './limits.js';
export { PROTOCOL_VERSIONS, agreeOnVersion, type SpokenVersions } from './protocol-version.js';
export { SpareTunnels } from './spare-tunnels.js';
export { streamWindow } from './stream-window.js';
export { encodeControl, encodeDataHeader, type ControlKind } from './frame-encoder.js';
export { FrameDecoder, type FrameSink } from './frame-decoder.js';
export { PARKED, stepTunnel, type TunnelEvent, type TunnelRole, type TunnelState } from './tunnel-state.js';
export { formatTraceparent, readTraceparent, traceIdIn, type TraceContext } from './trace-context.js';
export type { Counted, Followed, Level } from './meters.js';
