import { toKubeStatus, type KubeStatus } from '@fairlead/kube-http';
import type { Failed } from '../../passage/outcome.js';
import type { Passage } from '../../passage/passage.js';
import { endRefused } from './end-refused.js';
import type { DoorRequest, DoorResponse } from './door-request.js';
import { breakOff } from './forward.js';

/** Tells a client, in words that it understands, who refused or broke its request; an answer that has begun is broken off. */
export function answerFailure(
  { requestId, traceId }: Passage,
  failed: Failed,
  incoming: DoorRequest,
  outgoing: DoorResponse,
): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    breakOff(outgoing);
    return;
  }
  const { httpStatus, retryAfterSeconds, body, warning } = kubeStatusOf(failed, traceId);
  outgoing.statusCode = httpStatus;
  outgoing.setHeader('content-type', 'application/json');
  outgoing.setHeader('content-length', String(Buffer.byteLength(body)));
  outgoing.setHeader('audit-id', requestId);
  outgoing.setHeader('warning', warning);
  if (retryAfterSeconds !== null) outgoing.setHeader('retry-after', String(retryAfterSeconds));
  if (httpStatus === 401) outgoing.setHeader('www-authenticate', 'Bearer realm="fairlead"');
  endRefused(incoming, outgoing, body);
}

function kubeStatusOf({ failure, hop }: Failed, traceId: string): KubeStatus {
  return toKubeStatus(failure, hop === 'gateway' ? 'gateway' : 'agent', traceId);
}
