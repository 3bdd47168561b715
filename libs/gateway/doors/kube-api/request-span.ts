import { METHODS } from 'node:http';
import type { FairleadError } from '@fairlead/errors';
import { kubeRoute } from '@fairlead/kube-http';
import type { Span, Tracer } from '@fairlead/observability';
import { callerOf } from '../../passage/request-trace.js';
import type { Admission } from './authorize.js';
import type { DoorRequest } from './forward.js';

const KNOWN_METHODS = new Set(METHODS);

/** The span of one request at the Kubernetes API door. Before it is admitted, only its method is told of it. */
export function beginRequestSpan(tracer: Tracer, { method = '', rawHeaders }: DoorRequest): Span {
  const known = KNOWN_METHODS.has(method) ? method : '_OTHER';
  return tracer.begin(known, 'server', callerOf(rawHeaders), { 'http.request.method': known });
}

/** Its route, never its path: names of objects and queries are nobody's business here. */
export function describeAdmission(span: Span, { method }: DoorRequest, { cluster, target }: Admission): void {
  if (!span.recording) return;
  const route = `/clusters/{cluster}${kubeRoute(target)}`;
  span.rename(`${method ?? ''} ${route}`);
  span.set({
    'http.route': route,
    'fairlead.tenant.id': cluster.tenantId,
    'fairlead.cluster.id': cluster.clusterId,
  });
}

/** `outcome` is the status that was passed on, or what failed. */
export function endRequestSpan(
  span: Span,
  outcome: number | FairleadError,
  bytes: { readonly up: number; readonly down: number } | undefined,
): void {
  if (!span.recording) return;
  const passedOn = typeof outcome === 'number';
  span.set({
    'http.response.status_code': passedOn ? outcome : outcome.kind.http,
    'fairlead.bytes.up': bytes?.up,
    'fairlead.bytes.down': bytes?.down,
    'fairlead.outcome': passedOn ? 'COMPLETE' : outcome.code,
  });
  if (passedOn) span.end(outcome >= 500 ? String(outcome) : undefined);
  else span.end(outcome.code);
}
