import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { onUnanswered } from './on-unanswered.js';
import type { BodyFraming } from './request-headers.js';

/** One request that goes on to the next server. */
export interface Hop {
  /** Its method, and its body, which is passed on as it comes. */
  readonly incoming: Readable & { readonly method?: string | undefined };
  readonly framing: BodyFraming;
  /** The next server, as errors name it. */
  readonly server: string;
  /** Begins the request there; `fresh`: on a connection that nobody has used before. */
  readonly begin: (fresh: boolean) => ClientRequest;
  /** Somebody still waits, and nothing of an answer has gone out. */
  readonly awaited: () => boolean;
  /** What is thrown for a request that broke before its answer. */
  readonly failureOf: (error: Error, upstream: ClientRequest) => Error;
}

export interface HopAnswer {
  /** Its body is the caller's to read. */
  readonly answer: IncomingMessage;
  /** Goes on as long as the request has a body. */
  readonly upstream: ClientRequest;
}

const BODYLESS_IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The connection was kept from an earlier request, died before it answered, and the request may be repeated. */
class StaleConnection extends Error {}

/**
 * Sends a request on and resolves with its answer, as soon as that begins. Rejects with `failureOf` what broke it, and with TUNNEL_RESET when there
 * is no answer. A kept connection may have died meanwhile: what has no body and is idempotent is then sent once more, on a fresh one.
 */
export async function requestHop(hop: Hop): Promise<HopAnswer> {
  try {
    return await attempt(hop, false);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    return attempt(hop, true);
  }
}

function attempt({ incoming, framing, server, begin, awaited, failureOf }: Hop, fresh: boolean): Promise<HopAnswer> {
  const repeatable = !fresh && framing === 'none' && BODYLESS_IDEMPOTENT.has(incoming.method ?? '');
  return new Promise((resolve, reject) => {
    const upstream = begin(fresh);
    // What fails after the first failure has been told already.
    upstream.on('error', () => undefined);
    upstream.once('error', (error) => {
      const again = repeatable && upstream.reusedSocket && awaited();
      reject(again ? new StaleConnection() : failureOf(error, upstream));
    });
    upstream.once('response', (answer) => resolve({ answer, upstream }));
    onUnanswered(upstream, server, reject);
    if (framing === 'none') {
      upstream.end();
      return;
    }
    // The answer may have to come before the first byte of the body.
    upstream.flushHeaders();
    incoming.pipe(upstream);
  });
}
