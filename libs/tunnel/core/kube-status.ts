import { FairleadError, type ErrorCode } from '@fairlead/errors';

/** Kubernetes' own words for our codes, where it has one (k8s.io/apimachinery StatusReason). */
const REASONS: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'Unauthorized',
  FORBIDDEN: 'Forbidden',
  IDENTITY_REFUSED: 'Forbidden',
  WRONG_CLUSTER: 'Forbidden',
  NOT_FOUND: 'NotFound',
  INVALID_ARGUMENT: 'BadRequest',
  TOO_LARGE: 'RequestEntityTooLarge',
  RATE_LIMITED: 'TooManyRequests',
  DEADLINE_EXCEEDED: 'Timeout',
  INTERNAL: 'InternalError',
};

/** Where on its way a request failed. */
export type Hop = 'gateway' | 'relay' | 'agent' | 'kube-apiserver';

/** What kubectl and client-go understand (`meta/v1.Status`). */
export interface KubeStatus {
  readonly httpStatus: number;
  readonly retryAfterSeconds: number | null;
  readonly body: string;
}

/**
 * An error as a Kubernetes Status, so that kubectl prints one clear line. `Retry-After` makes client-go repeat the
 * request whatever its verb, so it is set only where the request provably was not delivered.
 */
export function toKubeStatus(error: FairleadError, hop: Hop, traceId: string): KubeStatus {
  const { http, retryable } = error.kind;
  const reason = REASONS[error.code] ?? (http === 503 ? 'ServiceUnavailable' : 'Unknown');
  const causes = [
    { reason: 'FairleadCode', message: error.code },
    { reason: 'FairleadHop', message: hop },
    { reason: 'FairleadTraceId', message: traceId },
  ];
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `fairlead ${hop}: ${error.message} (trace ${traceId})`,
    reason,
    code: http,
    details: { causes, ...(retryable ? { retryAfterSeconds: 1 } : {}) },
  };
  return { httpStatus: http, retryAfterSeconds: retryable ? 1 : null, body: `${JSON.stringify(body)}\n` };
}
