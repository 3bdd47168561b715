import type { EventInput, EventPublisher, EventType } from '@fairlead/events/publisher';
import { NO_TENANT } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import type { AdministratorUse, GatewayEvents, Refusal, StreamEvent } from '@fairlead/gateway';
import type { Logger } from '@fairlead/observability';

/** As long as the catalogue lets them be. The unauthenticated choose what is in them before anybody knows who they are. */
const LONGEST = { subject: 256, actor: 256, asGroups: 32, address: 64, reason: 64, door: 32, method: 16 };

/**
 * What a replica reports, as events of the catalogue. Never throws: what the unauthenticated can make as long as they like is cut,
 * and an event that does not match its schema all the same is lost, and logged once of each type.
 */
export function gatewayEvents(publisher: EventPublisher, gateway: string, logger: Logger): GatewayEvents {
  const publish = publishing(publisher, logger);
  return {
    agentConnected: ({ tenantId, clusterId, generation, sessionId, suppressed = 0 }) => {
      publish('dev.fairlead.agent.connected.v1', {
        ...aboutAgent(tenantId, clusterId),
        generation,
        sessionId,
        gateway,
        suppressed,
      });
    },
    agentDisconnected: ({ tenantId, clusterId, generation, sessionId, durationMs, suppressed = 0 }) => {
      publish('dev.fairlead.agent.disconnected.v1', {
        ...aboutAgent(tenantId, clusterId),
        generation,
        sessionId,
        gateway,
        suppressed,
        durationMs,
      });
    },
    accessRefused: (refusal) => publish('dev.fairlead.access.refused.v1', aboutRefusal(refusal, gateway)),
    administratorUsed: (use) => publish('dev.fairlead.administrator.used.v1', aboutAdministrator(use, gateway)),
    stream: (told) => {
      const { phase, status, bytesUp, bytesDown, durationMs } = told;
      const about = aboutStream(told, gateway);
      if (phase === 'opened') publish('dev.fairlead.stream.opened.v1', about);
      else if (phase === 'refused') publish('dev.fairlead.stream.refused.v1', { ...about, status });
      else publish('dev.fairlead.stream.ended.v1', { ...about, bytesUp, bytesDown, durationMs });
    },
  };
}

type Publish = <T extends EventType>(type: T, data: EventInput<T>) => void;

/** Whoever reports does so in the midst of something else, which an event that cannot be told must not end. */
function publishing(publisher: EventPublisher, logger: Logger): Publish {
  const complained = new Set<EventType>();
  return (type, data) => {
    try {
      publisher.publish(type, data);
    } catch (error) {
      if (complained.has(type)) return;
      complained.add(type);
      logger.error('events.not_published', { type, reason: messageOf(error), err: error });
    }
  };
}

function aboutRefusal(
  { code, address, door, tenantId, clusterId, cluster, user, method = '', grantIds = [], suppressed = 0 }: Refusal,
  gateway: string,
): EventInput<'dev.fairlead.access.refused.v1'> {
  const id = (user ?? clusterId ?? '').slice(0, LONGEST.actor);
  return {
    tenantId: tenantId ?? NO_TENANT,
    subject: (cluster ? `cluster/${cluster}` : `door/${door}`).slice(0, LONGEST.subject),
    actor: { kind: actorKind(door, user), id, address: address.slice(0, LONGEST.address) },
    reason: code.slice(0, LONGEST.reason),
    clusterId: clusterId ?? null,
    gateway,
    door: door.slice(0, LONGEST.door),
    method: method.slice(0, LONGEST.method),
    grantIds: [...grantIds],
    suppressed,
  };
}

function aboutAdministrator(
  { tenantId, user, tokenId, address, door, cluster, method, suppressed }: AdministratorUse,
  gateway: string,
): EventInput<'dev.fairlead.administrator.used.v1'> {
  return {
    tenantId,
    subject: (cluster ? `cluster/${cluster}` : `door/${door}`).slice(0, LONGEST.subject),
    actor: { kind: 'user', id: user.slice(0, LONGEST.actor), address: address.slice(0, LONGEST.address) },
    reason: 'OK',
    at: `door/${door}`,
    by: gateway,
    tokenId,
    method: method.slice(0, LONGEST.method),
    suppressed,
  };
}

function aboutStream(
  { streamId, tenantId, clusterId, user, as, asGroups, grantIds, address, reason, stream }: StreamEvent,
  gateway: string,
): EventInput<'dev.fairlead.stream.opened.v1'> {
  return {
    tenantId,
    subject: `cluster/${clusterId}`,
    actor: { kind: 'user', id: user.slice(0, LONGEST.actor), address: address.slice(0, LONGEST.address) },
    reason: reason.slice(0, LONGEST.reason),
    clusterId,
    gateway,
    streamId,
    ...stream,
    command: [...stream.command],
    as: as.slice(0, LONGEST.actor),
    asGroups: asGroups.slice(0, LONGEST.asGroups).map((group) => group.slice(0, LONGEST.actor)),
    grantIds: [...grantIds],
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
  if (door === 'link' || door === 'egress') return 'agent';
  return door === 'relay' ? 'gateway' : 'unknown';
}
