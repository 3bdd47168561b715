import { FairleadError, messageOf } from '@fairlead/errors';

/** What one look at the surroundings found. */
export interface Finding {
  /** dns, route, tls, clock, pin, token, identity, kubernetes, rights. */
  readonly check: string;
  /** What was looked at, such as an endpoint. */
  readonly subject: string;
  readonly ok: boolean;
  /** What was seen; for a failure, its cause. Never a secret. */
  readonly detail: string;
  /** For a failure: what to do about it. */
  readonly remedy?: string;
}

export function found(check: string, subject: string, detail: string): Finding {
  return { check, subject, ok: true, detail };
}

export function missed(check: string, subject: string, cause: unknown, remedy: string): Finding {
  const detail = cause instanceof FairleadError ? `${cause.code}: ${cause.message}` : messageOf(cause);
  return { check, subject, ok: false, detail, remedy };
}
