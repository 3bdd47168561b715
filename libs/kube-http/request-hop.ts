import type { Readable, Writable, Duplex } from 'node:stream';
import type { BodyFraming } from './request-headers.js';
import { FairleadError } from '@fairlead/errors';

/** A request to the next server, whatever it is spoken with: what Node's `ClientRequest` has of it. */
export interface UpstreamRequest extends Writable {
  /** It went on a connection that was kept from an earlier one. */
  readonly reusedSocket: boolean;
  /** The server says that it did nothing of it. Absent: that cannot be told. */
  readonly wasRefused?: boolean;
  flushHeaders(): void;
}

/** Its answer: what Node's `IncomingMessage` has of it. */
export interface UpstreamAnswer extends Readable {
  readonly statusCode?: number | undefined;
  readonly rawHeaders: string[];
  /** All of it came. */
  readonly complete: boolean;
}

/** One request that goes on to the next server. */
export interface Hop<R extends UpstreamRequest> {
  /** Its method, and its body, which is passed on as it comes. */
  readonly incoming: Readable & { readonly method?: string | undefined };
  readonly framing: BodyFraming;
  /** The next server, as errors name it. */
  readonly server: string;
  /** Begins the request there; `fresh`: on a connection that nobody has used before. */
  readonly begin: (fresh: boolean) => R;
  /** Somebody still waits, and nothing of an answer has gone out. */
  readonly awaited: () => boolean;
  /** Whether the way to the server is gone, though nobody there said so. Absent: that cannot be told. */
  readonly lost?: (upstream: R, error: Error) => boolean;
  /** What is thrown for a request that broke before its answer. */
  readonly failureOf: (error: Error, upstream: R) => Error;
}

export interface HopAnswer<R extends UpstreamRequest> {
  /** Its body is the caller's to read. */
  readonly answer: UpstreamAnswer;
  /** Goes on as long as the request has a body. */
  readonly upstream: R;
}

const BODYLESS_IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A way that is lost may be lost again: whoever died had several links, and not all replicas know of it in one moment. */
const MOST_ATTEMPTS = 4;

/** The connection died before it answered, and the request may be repeated. */
class StaleConnection extends Error {}

/**
 * Sends a request on and resolves with its answer, as soon as that begins. Rejects with `failureOf` what broke it, and with TUNNEL_RESET when there
 * is no answer. A kept connection may have died meanwhile: what has no body and is idempotent is then sent once more, on a fresh one; so is what has no
 * body and was refused before anything was done of it. Where the way is lost, what has no body and is idempotent is sent up to four times.
 */
export async function requestHop<R extends UpstreamRequest>(hop: Hop<R>): Promise<HopAnswer<R>> {
  for (let before = 0; ; before += 1) {
    try {
      return await attempt(hop, before);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
    }
  }
}

/** `before`: how often it was sent already. */
function attempt<R extends UpstreamRequest>(hop: Hop<R>, before: number): Promise<HopAnswer<R>> {
  const { incoming, framing, server, begin, awaited, lost = () => false, failureOf } = hop;
  const isIdempotent = BODYLESS_IDEMPOTENT.has(incoming.method ?? '');
  return new Promise((resolve, reject) => {
    const upstream = begin(before > 0);
    // What fails after the first failure has been told already.
    upstream.on('error', () => undefined);
    upstream.once('error', (error) => {
      const wasStale = before === 0 && ((isIdempotent && upstream.reusedSocket) || upstream.wasRefused === true);
      const wasLost = before + 1 < MOST_ATTEMPTS && isIdempotent && lost(upstream, error);
      const again = (wasStale || wasLost) && framing === 'none' && awaited();
      reject(again ? new StaleConnection() : failureOf(error, upstream));
    });
    upstream.once('response', (answer: UpstreamAnswer) => resolve({ answer, upstream }));
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

/**
 * Calls back with TUNNEL_RESET when a request is over and there will be no answer. Of a server that switches protocols,
 * though it was not asked to, Node (24.21) tells neither an answer nor an error; its connection is ended.
 */
function onUnanswered(request: Writable, server: string, fail: (failure: FairleadError) => void): void {
  let what = 'ended the connection without an answer';
  const onClose = (): void => fail(new FairleadError('TUNNEL_RESET', `${server} ${what}`));
  request.once('close', onClose);
  request.once('response', () => void request.off('close', onClose));
  request.once('upgrade', (_answer: unknown, socket: Duplex) => {
    what = 'switched protocols, which nobody asked for';
    socket.on('error', () => undefined);
    socket.destroy();
  });
}
