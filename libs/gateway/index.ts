export { startGateway, type Gateway } from './gateway.js';
export { DEFAULT_CONNECT_LIMITS, type ConnectLimits } from './doors/connect/connect-context.js';
export type { DoorLimits } from './limits/door-limiter.js';
export { DEFAULT_KUBE_API_LIMITS, type KubeApiLimits } from './doors/kube-api/door.js';
export { openAudit, type AuditSettings, type GatewayAudit } from './audit/open-audit.js';
export type { AuditPolicy } from './audit/audit-trail.js';
export type { GatewayOptions } from './gateway-state.js';
export type {
  AdministratorUse,
  GatewayEvents,
  Refusal,
  SessionEvent,
  StreamEvent,
} from './reporting/gateway-events.js';
export { parseEgressRule, type EgressRule } from './doors/egress/egress-rules.js';
export { DEFAULT_EGRESS_LIMITS } from './doors/egress/serve-egress.js';
export { rateLimitedEvents } from './reporting/rate-limited-events.js';
