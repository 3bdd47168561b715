import { fullJitterMs, startDeadline, systemClock, type Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import { TokenBucket } from '@fairlead/limits';
import { Agent } from 'undici';
import { z } from 'zod';
import type { Limits } from '../limits.js';
import { answerError, rateLimited } from './answer-error.js';
import { exchange, type Answer, type Request } from './exchange.js';
import { limitedUntil } from './rate-limit.js';

interface GitHttpOptions {
  /** Of the API, without a slash at its end; https. */
  readonly apiBase: URL;
  /** What authenticates us, and what the API wants in every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** What must not get into an error. */
  readonly secrets: readonly string[];
  /** Only these authorities are then trusted, and not the system's. */
  readonly caPem?: string | undefined;
  readonly limits: Limits;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
}

export interface Ask {
  /** What it is about, for errors: `list the deploy keys`. */
  readonly what: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Below the API's base, with a slash before it; every variable part is encoded already. */
  readonly path: string;
  /** Encoded. */
  readonly query?: string;
  readonly body?: unknown;
  /** Statuses that the caller understands; any other is an error. */
  readonly expect: readonly number[];
}

const MAX_REDIRECTS = 3;

/** HTTP to one Git host, which may be slow, broken or hostile. Its bounds are in `Limits`, its errors those of the port. */
export class GitHttp implements AsyncDisposable {
  readonly #options: GitHttpOptions;
  readonly #agent: Agent;
  readonly #clock: Clock;
  readonly #budget: TokenBucket;
  #pending = 0;
  #limitedUntilMs = 0;

  constructor(options: GitHttpOptions) {
    const { limits, caPem } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#budget = new TokenBucket(
      { burst: limits.retryBurst, perSecond: 1_000 / limits.retryEveryMs },
      this.#clock.nowMs(),
    );
    this.#agent = new Agent({
      // GitHub asks for one request after the other rather than many at once.
      connections: 4,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: 32 * 1024,
      keepAliveTimeout: 10_000,
      keepAliveMaxTimeout: 60_000,
      connect: {
        timeout: limits.requestTimeoutMs,
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ...(caPem === undefined ? {} : { ca: caPem }),
      },
    });
  }

  /** The answer, with one of the expected statuses. */
  async send(ask: Ask, signal: AbortSignal): Promise<Answer> {
    const { limits } = this.#options;
    if (this.#pending >= limits.maxPending)
      throw new FairleadError('UNAVAILABLE', 'too many requests to this Git host are waiting already');
    this.#pending += 1;
    try {
      return await this.#attempts(ask, signal);
    } finally {
      this.#pending -= 1;
    }
  }

  /** Wall clock, milliseconds since 1970. */
  nowMs(): number {
    return this.#clock.nowMs();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  async #attempts(ask: Ask, signal: AbortSignal): Promise<Answer> {
    const { limits, random } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(ask, signal);
      } catch (error) {
        const mayRepeat = error instanceof FairleadError && isPassing(error) && ask.method !== 'POST';
        if (!mayRepeat || attempt >= limits.maxAttempts || !this.#budget.take(this.#clock.nowMs())) throw error;
        const asked = Number(error.details?.['retryAfterSeconds'] ?? 0) * 1_000;
        if (asked > limits.retryCapMs) throw error;
        const backoff = { baseMs: limits.retryBaseMs, capMs: limits.retryCapMs };
        await this.#clock.sleep(asked + fullJitterMs(attempt, backoff, random), signal);
      }
    }
  }

  async #once(ask: Ask, outer: AbortSignal): Promise<Answer> {
    const { limits, secrets } = this.#options;
    if (this.#clock.nowMs() < this.#limitedUntilMs) throw rateLimited(this.#limitedUntilMs, this.#clock.nowMs());
    const late = () => new FairleadError('DEADLINE_EXCEEDED', `${ask.what}: the Git host did not answer in time`);
    const deadline = startDeadline(outer, limits.requestTimeoutMs, late);
    try {
      const answer = await this.#follow(ask, deadline.signal);
      const nowMs = this.#clock.nowMs();
      const until = limitedUntil(answer.status, answer.headers, nowMs);
      if (until !== null) {
        this.#limitedUntilMs = Math.max(this.#limitedUntilMs, until);
        throw rateLimited(until, nowMs);
      }
      if (ask.expect.includes(answer.status)) return answer;
      throw answerError(answer, ask.what, secrets, nowMs);
    } finally {
      deadline.clear();
    }
  }

  async #follow(ask: Ask, signal: AbortSignal): Promise<Answer> {
    const { apiBase, limits } = this.#options;
    let request = this.#request(ask);
    for (let hops = 0; ; hops++) {
      const answer = await exchange(this.#agent, request, limits, signal);
      if (answer.status < 300 || answer.status >= 400) return answer;
      if (hops === MAX_REDIRECTS) throw new FairleadError('PROTOCOL_ERROR', `${ask.what}: redirected without end`);
      request = { ...request, url: redirectTarget(request, answer, apiBase, ask.what) };
    }
  }

  #request({ what, method = 'GET', path, query, body }: Ask): Request {
    const { apiBase, headers } = this.#options;
    const pathname = `${apiBase.pathname.replace(/\/$/, '')}${path}`;
    const url = new URL(`${apiBase.origin}${pathname}${query === undefined || query === '' ? '' : `?${query}`}`);
    // What a URL would shorten ("..") is not what was meant.
    if (url.pathname !== pathname) throw new FairleadError('INVALID_ARGUMENT', `${what}: this name has no address`);
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const common = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'fairlead' };
    return {
      method,
      url,
      headers: { ...common, ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }
}

/** Reads what a host answered. Throws PROTOCOL_ERROR with the places that are wrong, never with what stood there. */
export function readAs<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const places = result.error.issues.slice(0, 5).map((issue) => `${issue.path.join('.') || 'body'} (${issue.code})`);
  throw new FairleadError('PROTOCOL_ERROR', `${what}: the Git host answered something else: ${places.join(', ')}`);
}

/** Is another try with the same request of use? A deadline that passed has used up the patience there was. */
const isPassing = (error: FairleadError): boolean => error.code === 'UNAVAILABLE';

/**
 * Where a redirect leads, if it may be followed: by a GET, to the same host, port and https, below the API's base. A host sends
 * one when a repository was renamed. Anywhere else it could make us ask an address that only we can reach, or show our token.
 * Throws CONFLICT for other methods, PROTOCOL_ERROR for other places, which are not named: the text is the host's.
 */
export function redirectTarget(request: Request, answer: Answer, apiBase: URL, what: string): URL {
  if (request.method !== 'GET')
    throw new FairleadError('CONFLICT', `${what}: the repository has moved; use its new name`);
  const location = answer.headers['location'] ?? '';
  const readable = location !== '' && location.length <= 2_048 && URL.canParse(location, request.url.href);
  const target = readable ? new URL(location, request.url) : null;
  const stays =
    target !== null &&
    target.origin === apiBase.origin &&
    target.username === '' &&
    target.password === '' &&
    target.pathname.startsWith(`${apiBase.pathname.replace(/\/$/, '')}/`);
  if (!stays)
    throw new FairleadError('PROTOCOL_ERROR', `${what}: the Git host redirects to another place; not followed`);
  target.hash = '';
  return target;
}
