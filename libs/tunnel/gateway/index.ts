export { startGateway, type Gateway, type GatewayOptions } from './gateway.js';
export type { GatewayEvents, Refusal, SessionEvent } from './gateway-events.js';
