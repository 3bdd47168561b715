import { fullJitterMs } from '@fairlead/clock';
import { FairleadError, type ErrorCode } from '@fairlead/errors';

/** What a Git host failed with, told apart from failures of our own. */
export class HostFailure extends Error {
  readonly error: FairleadError;

  constructor(error: FairleadError) {
    super(error.message, { cause: error });
    this.error = error;
  }
}

/** Does something with a Git host. Throws HostFailure for what that fails with. */
export async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FairleadError) throw new HostFailure(error);
    throw error;
  }
}

/** Of the host as a whole; everything else is about one repository or key. */
const OF_THE_HOST: ReadonlySet<ErrorCode> = new Set([
  'GIT_TOKEN_REFUSED',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'UNTRUSTED_PEER',
  'PROTOCOL_ERROR',
]);

/** They pass without anybody doing something. */
const PASSING: ReadonlySet<string> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'PROTOCOL_ERROR']);

export function isOfTheHost({ code }: FairleadError): boolean {
  return OF_THE_HOST.has(code);
}

/** Does somebody have to do something about it? */
export function needsSomebody(code: string | null): boolean {
  return code !== null && !PASSING.has(code);
}

const SOON = { baseMs: 2_000, capMs: 60_000 };
const LATER = { baseMs: 60_000, capMs: 600_000 };
const RATE_JITTER_MS = 5_000;

/** Before which nothing is sent to a host that failed so often in a row: when it said itself, or later and later. */
export function retryAt(error: FairleadError, failures: number, now: Date, random: () => number = Math.random): Date {
  const said = error.code === 'RATE_LIMITED' ? Date.parse(String(error.details?.['retryAt'])) : Number.NaN;
  if (!Number.isNaN(said)) return new Date(said + Math.ceil(random() * RATE_JITTER_MS));
  const limits = PASSING.has(error.code) ? SOON : LATER;
  return new Date(now.getTime() + limits.baseMs / 2 + fullJitterMs(failures, limits, random));
}
