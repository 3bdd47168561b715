import type { ClusterEntry } from '@fairlead/contracts';
import type { Span, TraceContext, Tracer } from '@fairlead/observability';
import type { BridgedBytes } from '@fairlead/tunnel/link';

/** What is known at the end of a connection. */
interface Described {
  readonly span: Span;
  readonly cluster?: ClusterEntry;
  readonly target?: { readonly host: string; readonly port: number };
}

interface Carried {
  readonly tunnelId: string;
  readonly via: string;
  /** To the tunnel is up. */
  readonly bytes: BridgedBytes;
}

/** The span of a connection, from the head of its CONNECT to its end. */
export function beginConnectSpan(tracer: Tracer, caller: TraceContext | undefined): Span {
  return tracer.begin('CONNECT', 'server', caller, { 'http.request.method': 'CONNECT' });
}

/** `outcome` is COMPLETE, or the code of what broke or refused it. */
export function endConnectSpan(
  { span, cluster, target }: Described,
  outcome: string,
  status: number,
  carried?: Carried,
): void {
  if (!span.recording) return;
  span.set({
    'server.address': target?.host,
    'server.port': target?.port,
    'http.response.status_code': status,
    'fairlead.tenant.id': cluster?.tenantId,
    'fairlead.cluster.id': cluster?.clusterId,
    'fairlead.tunnel.id': carried?.tunnelId,
    'fairlead.via': carried?.via,
    'fairlead.bytes.up': carried?.bytes.toTunnel,
    'fairlead.bytes.down': carried?.bytes.fromTunnel,
    'fairlead.outcome': outcome,
  });
  span.end(outcome === 'COMPLETE' ? undefined : outcome);
}
