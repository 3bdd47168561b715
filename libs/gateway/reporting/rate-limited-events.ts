import type { GatewayEvents } from './gateway-events.js';
import { rateLimitedRefusals } from './rate-limited-refusals.js';
import { rateLimitedSessions } from './rate-limited-sessions.js';

/**
 * The same events for whoever is only notified: of what an agent or the unauthenticated can cause at will only some, each with a count of those it stands
 * for. Streams that were let on are all told. What has to be durable does not go through here.
 */
export function rateLimitedEvents(events: GatewayEvents): GatewayEvents {
  return rateLimitedRefusals(rateLimitedSessions(events));
}
