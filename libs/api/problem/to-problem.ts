import { ERROR_KINDS, FairleadError, type ErrorCode } from '@fairlead/errors';
import type { Problem } from '../contract/schemas.js';
import { InvalidInput } from './invalid-input.js';

/** What to do about an error, where the error itself does not say it. */
const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  INVALID_ARGUMENT: 'correct the request; /openapi.json describes every field',
  UNAUTHENTICATED: 'send an admin API token as "Authorization: Bearer <token>", or run: fairlead login',
  FORBIDDEN: 'see what you may do: fairlead grant list --mine; an administrator can give more',
  NOT_FOUND: 'check the name: the list command of what it names shows what there is',
  ALREADY_EXISTS: 'choose another name, or go on with what is there',
  CONFLICT: 'look at the state as it is now, then try again',
  REVISION_CONFLICT: 'read it again, then do it again on top of what it is now',
  GONE: 'make a fresh import link with: fairlead cluster import <name> --link',
  TOO_LARGE: 'send at most 64 KiB',
  QUOTA_EXCEEDED:
    'delete what is not needed, or ask whoever runs this installation for more: fairlead tenant update NAME',
  RATE_LIMITED: 'wait as long as Retry-After says, then try again',
  UNAVAILABLE: 'try again in a few seconds; if it lasts, look at the logs of registration, keys and NATS',
  DEADLINE_EXCEEDED: 'look whether it was carried out before you try again',
};
/** Of "there is no … named x": what shows those that there are. */
const LISTS: Readonly<Record<string, string>> = {
  cluster: 'fairlead cluster list',
  client: 'fairlead client list',
  tenant: 'fairlead tenant list',
  'Git host': 'fairlead git-host list',
  'catalog repository': 'fairlead catalog list',
  subscriber: 'fairlead subscriber list',
};
const FALLBACK = 'try again; if it lasts, look for the request id in the log of the API';

interface ProblemOptions {
  readonly requestId: string;
  /** Where HTTP has a finer status than our code, such as 405 or 415. */
  readonly status?: number;
  readonly next?: string;
}

/** The RFC 9457 body of an error. What was not meant for users (INTERNAL) shows only its safe message. */
export function toProblem(error: FairleadError, options: ProblemOptions): Problem {
  const { code, kind } = error;
  return {
    type: `urn:fairlead:error:${code}`,
    title: kind.safeMessage,
    status: options.status ?? kind.http,
    detail: code === 'INTERNAL' ? ERROR_KINDS.INTERNAL.safeMessage : error.message,
    code,
    next: options.next ?? nextOf(error),
    retryable: kind.retryable,
    requestId: options.requestId,
    ...(error instanceof InvalidInput ? { problems: [...error.problems] } : {}),
  };
}

function nextOf({ code, message }: FairleadError): string {
  const [, missing = ''] =
    /^there is no (cluster|client|tenant|Git host|catalog repository|subscriber)\b/.exec(message) ?? [];
  const list = code === 'NOT_FOUND' ? LISTS[missing] : undefined;
  return list === undefined ? (NEXT_STEPS[code] ?? FALLBACK) : `check the name with: ${list}`;
}
