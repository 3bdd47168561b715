import { FairleadError, type ErrorCode } from '@fairlead/errors';

/**
 * An answer of the API server that is not 2xx, or no answer, as a FairleadError. The server's own sentence is kept
 * (RBAC and validation explain themselves there, and it repeats no Secret's values); nothing else of the body is.
 */
export function kubeError(error: unknown, what: string): FairleadError {
  if (error instanceof FairleadError) return error;
  if (!(error instanceof Error)) return new FairleadError('INTERNAL', `${what} failed`);
  const late = error.name === 'TimeoutError' || error.name === 'AbortError';
  const reason = late
    ? 'the Kubernetes API server did not answer in time'
    : 'the Kubernetes API server is not reachable';
  return new FairleadError(late ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE', `${what}: ${reason}`, { cause: error });
}

/** The error for an HTTP status and the body (a `Status` object, if the server made it). */
export function statusError(httpStatus: number, body: string, what: string): FairleadError {
  const message = statusMessage(body) ?? `HTTP status ${httpStatus}`;
  return new FairleadError(codeFor(httpStatus), `${what}: ${message}`, { details: { httpStatus } });
}

function codeFor(httpStatus: number): ErrorCode {
  switch (httpStatus) {
    case 400:
    case 422:
      return 'INVALID_ARGUMENT';
    case 401:
      return 'UNAUTHENTICATED';
    case 403:
      return 'FORBIDDEN';
    case 404:
      return 'NOT_FOUND';
    case 409:
      return 'CONFLICT';
    case 429:
    case 502:
    case 503:
      return 'UNAVAILABLE';
    case 504:
      return 'DEADLINE_EXCEEDED';
    default:
      return 'INTERNAL';
  }
}

function statusMessage(body: string): string | undefined {
  try {
    const status = JSON.parse(body) as { kind?: unknown; message?: unknown } | null;
    if (status?.kind === 'Status' && typeof status.message === 'string') return shortened(status.message);
  } catch {
    // Not JSON: a proxy answered. Its page is not worth showing.
  }
  return undefined;
}

/** The middle goes: what is wrong with a large value stands behind it. */
function shortened(message: string): string {
  return message.length <= 1_000 ? message : `${message.slice(0, 600)} … ${message.slice(-390)}`;
}
