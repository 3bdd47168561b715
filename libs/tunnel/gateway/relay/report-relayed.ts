import type { Http2Stream } from '@fairlead/http2';
import type { Logger } from '@fairlead/observability';
import type { Open } from '@fairlead/proto';
import { traceIdIn } from '../../core/index.js';
import type { SplicedBytes } from '../../link/index.js';
import type { GatewayMetrics } from '../gateway-metrics.js';

export interface RelayReportOptions {
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/**
 * Counts what a relayed tunnel carries while it does, and tells it in one line of the log when it is over. What went by
 * was not read: the cause is COMPLETE when the asking replica ended its direction in order, which a Reset in band is too.
 */
export async function reportRelayed(
  { metrics, logger }: RelayReportOptions,
  { tunnelId, tenantId, clusterId, traceparent }: Open,
  stream: Http2Stream,
  carry: (counts: SplicedBytes) => Promise<unknown>,
): Promise<void> {
  const startedMs = performance.now();
  const counts = { forward: 0, backward: 0 };
  const counted = metrics.relayedBytes.follow(() => counts);
  metrics.relayedOpen.inc();
  try {
    await carry(counts);
  } finally {
    counted();
    metrics.relayedOpen.dec();
    logger.info('relay.closed', {
      traceId: traceIdIn(traceparent),
      tunnelId,
      tenantId,
      clusterId,
      cause: stream.ended ? 'COMPLETE' : 'TUNNEL_RESET',
      bytesUp: counts.forward,
      bytesDown: counts.backward,
      durationMs: Math.round(performance.now() - startedMs),
    });
  }
}
