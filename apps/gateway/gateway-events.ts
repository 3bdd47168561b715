import type { EventPublisher } from '@fairlead/events/publisher';
import { NO_TENANT } from '@fairlead/contracts';
import type { GatewayEvents } from '@fairlead/gateway';

/** What a replica reports, as events of the catalog. */
export function gatewayEvents(publisher: EventPublisher, gateway: string): GatewayEvents {
  return {
    agentConnected: ({ tenantId, clusterId, generation, sessionId, suppressed = 0 }) => {
      publisher.publish('dev.fairlead.agent.connected.v1', {
        ...aboutAgent(tenantId, clusterId),
        generation,
        sessionId,
        gateway,
        suppressed,
      });
    },
    agentDisconnected: ({ tenantId, clusterId, generation, sessionId, durationMs, suppressed = 0 }) => {
      publisher.publish('dev.fairlead.agent.disconnected.v1', {
        ...aboutAgent(tenantId, clusterId),
        generation,
        sessionId,
        gateway,
        suppressed,
        durationMs,
      });
    },
    accessRefused: ({ code, address, door, tenantId, clusterId, cluster, user, method, suppressed = 0 }) => {
      publisher.publish('dev.fairlead.access.refused.v1', {
        tenantId: tenantId ?? NO_TENANT,
        subject: cluster ? `cluster/${cluster}` : `door/${door}`,
        actor: { kind: actorKind(door, user), id: user ?? clusterId ?? '', address },
        reason: code,
        clusterId: clusterId ?? null,
        gateway,
        door,
        method: method ?? '',
        suppressed,
      });
    },
  };
}

function aboutAgent(tenantId: string, clusterId: string) {
  return {
    tenantId,
    subject: `cluster/${clusterId}`,
    actor: { kind: 'agent' as const, id: clusterId },
    reason: 'OK',
    clusterId,
  };
}

function actorKind(door: string, user: string | undefined): 'user' | 'agent' | 'gateway' | 'unknown' {
  if (user !== undefined) return 'user';
  if (door === 'link') return 'agent';
  return door === 'relay' ? 'gateway' : 'unknown';
}
