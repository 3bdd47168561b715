export { startGateway, type Gateway } from './gateway.js';
export type { ConnectLimits } from './connect/connection-limits.js';
export type { GatewayOptions } from './gateway-state.js';
export type { GatewayEvents, Refusal, SessionEvent } from './gateway-events.js';
export { DEFAULT_CONNECT_LIMITS } from './connect/connection-limits.js';
