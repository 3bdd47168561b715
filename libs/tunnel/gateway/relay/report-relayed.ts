import type { Http2Stream } from '@fairlead/http2';
import type { Logger, Span, Tracer } from '@fairlead/observability';
import type { Open } from '@fairlead/proto';
import { formatTraceparent, readTraceparent, traceIdIn } from '../../core/index.js';
import type { SplicedBytes } from '../../link/index.js';
import type { RelayMetrics } from '../ports.js';

export interface RelayReportOptions {
  readonly metrics: RelayMetrics;
  readonly logger: Logger;
}

/** The span of a relayed tunnel, from its Open to its end. If it is recorded, the Open goes on below it. */
export function beginRelayed(tracer: Tracer, open: Open): Span {
  const { tunnelId, tenantId, clusterId, traceparent } = open;
  const span = tracer.begin('tunnel.relay', 'server', readTraceparent([traceparent]), {
    'fairlead.tunnel.id': tunnelId,
    'fairlead.tenant.id': tenantId,
    'fairlead.cluster.id': clusterId,
  });
  if (span.recording) open.traceparent = formatTraceparent(span.context);
  return span;
}

/**
 * Counts what a relayed tunnel carries while it does, and tells it in one line of the log when it is over. What went by
 * was not read: the cause is COMPLETE when the asking replica ended its direction in order, which a Reset in band is too.
 */
export async function reportRelayed(
  { metrics, logger }: RelayReportOptions,
  { tunnelId, tenantId, clusterId, traceparent }: Open,
  stream: Http2Stream,
  span: Span,
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
    const cause = stream.ended ? 'COMPLETE' : 'TUNNEL_RESET';
    const { forward, backward } = counts;
    span.set({ 'fairlead.bytes.forward': forward, 'fairlead.bytes.backward': backward, 'fairlead.outcome': cause });
    span.end(cause === 'COMPLETE' ? undefined : cause);
    logger.info('relay.closed', {
      traceId: traceIdIn(traceparent),
      tunnelId,
      tenantId,
      clusterId,
      cause,
      bytesUp: forward,
      bytesDown: backward,
      durationMs: Math.round(performance.now() - startedMs),
    });
  }
}
