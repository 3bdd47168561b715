import { STATUS_CODES } from 'node:http';
import type { FairleadError } from '@fairlead/errors';

/** From here on the bytes are the target's. RFC 9110, 9.3.6: no Content-Length and no Transfer-Encoding. */
export const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';

const RETRY_AFTER_SECONDS = 1;
const MAX_REASON = 512;

export interface Refused {
  readonly status: number;
  /** The whole answer; the connection ends after it. */
  readonly text: string;
}

/**
 * What a client is told instead of 200: a status as the field means it, the code, and one line for people. The code stands
 * in the status line too: of a proxy's refusal, a kube-apiserver shows its user nothing else.
 */
export function refusal(error: FairleadError, status: number = statusOf(error)): Refused {
  const { code, message, kind } = error;
  const body = `${code}: ${oneLine(message)}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'} (${code})`,
    `Fairlead-Reason: ${code}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...(status === 405 ? ['Allow: CONNECT'] : []),
    ...(status === 407 ? ['Proxy-Authenticate: Basic realm="name of the cluster as user name"'] : []),
    ...(kind.retryable ? [`Retry-After: ${RETRY_AFTER_SECONDS}`] : []),
  ];
  return { status, text: `${head.join('\r\n')}\r\n\r\n${body}` };
}

/** A proxy that does not know who wants what says 407, where an origin says 401. */
export function statusOf({ code, kind }: FairleadError): number {
  return code === 'UNAUTHENTICATED' ? 407 : kind.http;
}

/** Parts of it come from an agent. */
function oneLine(message: string): string {
  return message.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, MAX_REASON);
}
