export { startGateway, type Gateway, type GatewayOptions } from './gateway.js';
export type { GatewayEvents } from './gateway-events.js';
