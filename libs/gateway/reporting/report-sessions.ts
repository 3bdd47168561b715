import { systemClock, type Clock } from '@fairlead/clock';
import { RateLimitedLog } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import type { GatewayEvents } from './gateway-events.js';
import type { GatewayMetrics } from '../status/gateway-metrics.js';

export interface ReportSessionsOptions {
  readonly sessions: Pick<SessionRegistry, 'all' | 'onChange'>;
  readonly events: GatewayEvents;
  readonly metrics: Pick<GatewayMetrics, 'sessions' | 'sessionsEnded'>;
  readonly logger: Logger;
}

/** An agent whose links live no longer than this is not well. */
const BRIEF_MS = 60_000;

/**
 * Tells of links that come and go, in the log (of each cluster as often as `RateLimitedLog` has it), in metrics and as events; how long they stood
 * by a clock that never steps back.
 */
export function reportSessions(
  { sessions, events, metrics, logger }: ReportSessionsOptions,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): void {
  const lines = { opened: new RateLimitedLog(clock), closed: new RateLimitedLog(clock) };
  const openedMs = new WeakMap<AgentSession, number>();
  sessions.onChange((change, session) => {
    const { tenantId, clusterId, sessionId, generation, agentInstance, remoteAddress } = session.facts;
    metrics.sessions.set(sessions.all().length);
    const line = lines[change].nextOf(clusterId);
    const fields = { clusterId, sessionId, generation, agentInstance, address: remoteAddress, ...line };
    const nowMs = clock.monotonicMs();
    if (change === 'opened') {
      openedMs.set(session, nowMs);
      if (line) logger.info('agent.connected', fields);
      events.agentConnected({ tenantId, clusterId, sessionId, generation });
    } else {
      const durationMs = Math.round(nowMs - (openedMs.get(session) ?? nowMs));
      metrics.sessionsEnded.inc({ lived: durationMs < BRIEF_MS ? 'brief' : 'long' });
      if (line) logger.info('agent.disconnected', fields);
      events.agentDisconnected({ tenantId, clusterId, sessionId, generation, durationMs });
    }
  });
}
