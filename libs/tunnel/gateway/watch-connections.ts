import { connectionState } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { LiveConnection, LiveConnections } from './live-connections.js';

/** Twice this, and what the bucket's watch takes, is the longest that somebody goes on who was shut out. */
const INTERVAL_MS = 700;

export interface WatchOptions {
  readonly nc: NatsConnection;
  readonly live: LiveConnections;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/**
 * Looks at what goes through the doors every now and then: measures what it holds, and breaks off whatever would be
 * refused if it came now: its client or token was deleted, has expired, is for somebody else, or may not reach that
 * cluster any more. Only what is refused twice in a row, because a bucket that lost its data is filled again within a
 * moment; and nothing while NATS is away, because then nothing is certain.
 */
export function watchConnections({ nc, live, metrics, logger }: WatchOptions, signal: AbortSignal): void {
  const state = connectionState(nc);
  let suspects = new Set<LiveConnection>();
  const look = (): void => {
    live.measure();
    const refused = new Set<LiveConnection>();
    for (const connection of live) {
      const cause = connection.refusedNow();
      if (!cause) continue;
      refused.add(connection);
      if (!state.connected || !suspects.has(connection)) continue;
      const { door, id, who, tenantId, clusterId, address } = connection;
      metrics.accessEnded.inc({ door, code: cause.code });
      logger.warn('access.ended', {
        door,
        connectionId: id,
        who,
        tenantId,
        clusterId,
        address,
        code: cause.code,
        reason: cause.message,
      });
      connection.end(cause);
    }
    suspects = refused;
  };
  const timer = setInterval(look, INTERVAL_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
