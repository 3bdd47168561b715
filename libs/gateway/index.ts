export { startGateway, type Gateway } from './gateway.js';
export { DEFAULT_CONNECT_LIMITS, type ConnectLimits } from './connect/connect-context.js';
export type { DoorLimits } from './door-limiter.js';
export { DEFAULT_KUBE_API_LIMITS } from './kube-api/door.js';
export type { GatewayOptions } from './gateway-state.js';
export type { GatewayEvents, Refusal, SessionEvent } from './gateway-events.js';
export { dampFlaps } from './damp-flaps.js';
export { dampRefusals } from './damp-refusals.js';
