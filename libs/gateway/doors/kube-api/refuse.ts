import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { FairleadError } from '@fairlead/errors';
import { toKubeStatus, type KubeStatus } from '@fairlead/kube-http';
import type { DoorPassages } from '../../passage/door-passages.js';
import type { Failed } from '../../passage/outcome.js';
import type { Passage } from '../../passage/passage.js';
import { arrivalOf } from './arrival.js';
import { endRefused } from './end-refused.js';
import { breakOff, type DoorRequest, type DoorResponse } from './forward.js';

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

/** Upgrades arrive with a later version. */
export function refuseUpgrade(passages: DoorPassages, incoming: IncomingMessage, socket: Duplex): void {
  // Nobody else listens to this socket now: a client that resets it must not end the process.
  socket.on('error', () => socket.destroy());
  const failure = new FairleadError('INVALID_ARGUMENT', 'this gateway does not carry exec, attach or port-forward yet');
  const { traceId, ending } = passages.turnAway(arrivalOf(incoming, incoming.socket), failure);
  const { httpStatus, body } = kubeStatusOf(ending, traceId);
  const head = [
    `HTTP/1.1 ${httpStatus} ${STATUS_CODES[httpStatus]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function kubeStatusOf({ failure, hop }: Failed, traceId: string): KubeStatus {
  return toKubeStatus(failure, hop === 'gateway' ? 'gateway' : 'agent', traceId);
}
