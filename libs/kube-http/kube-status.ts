import { FairleadError, type ErrorCode } from '@fairlead/errors';

/** Kubernetes' own words for our codes, where it has one (k8s.io/apimachinery StatusReason). */
const REASONS: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'Unauthorized',
  FORBIDDEN: 'Forbidden',
  IDENTITY_REFUSED: 'Forbidden',
  SESSION_ENDED: 'Forbidden',
  STATEMENT_REFUSED: 'Forbidden',
  STATEMENT_EXPIRED: 'Unauthorized',
  STATEMENT_STALE: 'Unauthorized',
  STATEMENT_REVOKED: 'Unauthorized',
  STATEMENT_REQUIRED: 'Unauthorized',
  WRONG_CLUSTER: 'Forbidden',
  NOT_FOUND: 'NotFound',
  INVALID_ARGUMENT: 'BadRequest',
  UNSUPPORTED_MEDIA_TYPE: 'UnsupportedMediaType',
  TOO_LARGE: 'RequestEntityTooLarge',
  RATE_LIMITED: 'TooManyRequests',
  DEADLINE_EXCEEDED: 'Timeout',
  INTERNAL: 'InternalError',
};

/** Where on its way a request failed. */
export type FailedAt = 'gateway' | 'agent';

/** What kubectl and client-go understand (`meta/v1.Status`). */
export interface KubeStatus {
  readonly httpStatus: number;
  readonly retryAfterSeconds: number | null;
  readonly body: string;
  /** A Warning header (299). */
  readonly warning: string;
}

/**
 * An error as a Kubernetes Status, so that kubectl prints one clear line. `Retry-After` makes client-go repeat the
 * request whatever its verb, so it is set only where the request provably was not delivered.
 *
 * Discovery, which is kubectl's first request, drops the Status and prints a sentence of its own. Warnings it prints, so
 * the message goes there too.
 */
export function toKubeStatus(error: FairleadError, hop: FailedAt, traceId: string): KubeStatus {
  const { http, retryable } = error.kind;
  const reason = REASONS[error.code] ?? (http === 503 ? 'ServiceUnavailable' : 'Unknown');
  const causes = [
    { reason: 'FairleadCode', message: error.code },
    { reason: 'FairleadHop', message: hop },
    { reason: 'FairleadTraceId', message: traceId },
  ];
  const message = `fairlead ${hop}: ${error.message} (trace ${traceId})`;
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code: http,
    details: { causes, ...(retryable ? { retryAfterSeconds: 1 } : {}) },
  };
  return {
    httpStatus: http,
    retryAfterSeconds: retryable ? 1 : null,
    body: `${JSON.stringify(body)}\n`,
    warning: `299 fairlead "${quotable(message)}"`,
  };
}

/** A message from a cluster may be long; a header may not. */
const MAX_WARNING_CHARACTERS = 1_000;

/** As the inside of a quoted string of a header: visible ASCII, quotes and backslashes escaped. */
function quotable(text: string): string {
  return text
    .slice(0, MAX_WARNING_CHARACTERS)
    .replaceAll('’', "'")
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .replaceAll(/["\\]/g, String.raw`\$&`);
}
