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

/** Which host it is, as administrators know it. */
export interface NamedHost {
  readonly name: string;
  /** Where it was asked; null: nowhere. */
  readonly url: string | null;
}

/**
 * What a host as a whole fails with, for whoever waits for the answer: which host it is, and where to look. Without that the code alone would send
 * them to our own services, which are well. Everything else stays as it is: operations know what to do about a repository or a token.
 */
export function naming({ name, url }: NamedHost, error: FairleadError): FairleadError {
  if (!isOfTheHost(error)) return error;
  const { code, message, details } = error;
  const why = details?.['cause'] === undefined ? '' : `: ${String(details['cause'])}`;
  const at = url === null ? '' : ` at ${url}`;
  const step = NEXT_STEPS[code];
  const next = step === undefined ? {} : { next: `see whether ${name}${url === null ? '' : ` (${url})`} ${step}` };
  return new FairleadError(code, `${message} (${name}${at}${why})`, { details: { ...details, ...next }, cause: error });
}

/** Does something with a host for somebody who waits. What that fails with is named. */
export async function askedByName<T>(host: NamedHost, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof FairleadError ? naming(host, error) : error;
  }
}

/** Of what may pass, and has nothing to do with what was asked for. */
const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  UNAVAILABLE: 'is up and can be reached from where the keys service runs, then try again',
  DEADLINE_EXCEEDED: 'is up and fast enough, and whether it was carried out there, then try again',
  PROTOCOL_ERROR: 'is the address of a Git host, and no proxy answers in its place, then try again',
};

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
