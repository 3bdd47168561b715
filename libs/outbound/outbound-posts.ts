import { request as plainRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as tlsRequest, type RequestOptions } from 'node:https';
import { getCACertificates } from 'node:tls';
import { startDeadline } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { checkedLookup, type ResolveName } from './checked-lookup.js';
import { checkUrl, type OutboundRules } from './outbound-rules.js';
import { resolveByDns } from './resolve-by-dns.js';

export interface OutboundPostsOptions {
  readonly rules: OutboundRules;
  /** PEM; trusted besides the system's authorities. */
  readonly ca?: string | undefined;
  /** Default: `resolveByDns`, which no slow server of a name keeps from other names. */
  readonly resolve?: ResolveName;
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** For all of it: the name, the connection, and the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Posted {
  readonly status: number;
  /** `Retry-After`, as it was sent. */
  readonly retryAfter: string | undefined;
}

/** Read and thrown away, so that the other end may finish; what is longer is cut. */
const MAX_ANSWER_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;

/** Posts to addresses that others name. No redirect is followed, and each request has a connection of its own, whose address was looked at. */
export class OutboundPosts {
  readonly #ca: string[] | undefined;

  constructor(private readonly options: OutboundPostsOptions) {
    const { ca } = options;
    this.#ca = ca === undefined ? undefined : [...getCACertificates('default'), ca];
  }

  /** Throws INVALID_ARGUMENT for a URL that may not be asked, as far as it says so itself. */
  check(url: string): URL {
    return checkUrl(url, this.options.rules);
  }

  /**
   * What was answered, whatever its status. Throws INVALID_ARGUMENT for what may not be dialled, UNAVAILABLE for what does not answer, DEADLINE_EXCEEDED, or the
   * signal's reason. Of the URL, a message says the host alone.
   */
  async post(text: string, { timeoutMs, signal, ...options }: PostOptions): Promise<Posted> {
    const url = this.check(text);
    const late = new FairleadError('DEADLINE_EXCEEDED', `${url.hostname} did not answer within ${timeoutMs} ms`);
    const deadline = startDeadline(signal, timeoutMs, () => late);
    try {
      const answer = await this.#send(url, options, deadline.signal);
      await drain(answer);
      return { status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] };
    } catch (error) {
      signal.throwIfAborted();
      if (deadline.signal.aborted) throw late;
      if (error instanceof FairleadError) throw error;
      throw new FairleadError('UNAVAILABLE', `${url.hostname} cannot be reached: ${reasonOf(error)}`, { cause: error });
    } finally {
      deadline.clear();
    }
  }

  #send(
    url: URL,
    { headers, body }: Omit<PostOptions, 'timeoutMs' | 'signal'>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { rules, resolve = resolveByDns } = this.options;
    const sent: OutgoingHttpHeaders = { 'user-agent': 'fairlead', ...headers, 'content-length': body.length };
    const settings: RequestOptions = {
      method: 'POST',
      signal,
      agent: false,
      headers: sent,
      maxHeaderSize: MAX_HEADER_BYTES,
      lookup: checkedLookup(rules, url, resolve),
      minVersion: 'TLSv1.2',
      ...(this.#ca ? { ca: this.#ca } : {}),
    };
    return new Promise((resolved, reject) => {
      const request = url.protocol === 'https:' ? tlsRequest(url, settings) : plainRequest(url, settings);
      request
        .on('response', resolved)
        .on('error', reject)
        // Also after a 101, of which Node tells nothing else.
        .on('close', () => reject(new Error('it ended without an answer')))
        .end(body);
    });
  }
}

/** The status counts, whatever becomes of the rest. */
async function drain(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return;
    }
  } catch {
    // It was answered.
  } finally {
    answer.destroy();
  }
}

/** The code of a system's or TLS' failure, where there is one. Messages of sockets have addresses, which are nobody's secret. */
function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : messageOf(error);
}
