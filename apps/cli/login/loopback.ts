import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '@fairlead/errors';
import { failure } from '../failure.js';
import { judgeLoopback, type Expected } from './loopback-answer.js';

/** Issuers that ask for it have it registered without a port: http://127.0.0.1/callback (RFC 8252, 7.3). */
const PATH = '/callback';
const HOSTS = ['127.0.0.1', '::1'] as const;
const MAX_CONNECTIONS = 16;
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_REQUEST_BYTES = 16 * 1024;

/** A listener for the one answer of one login. */
export interface Loopback extends AsyncDisposable {
  readonly redirectUri: string;
  /** Resolves with the URL that the browser was sent to, which holds the code or the refusal. Rejects when the signal aborts. */
  answer(signal: AbortSignal): Promise<URL>;
}

/** Listens on a free port of 127.0.0.1, or of ::1 where there is no IPv4. `onForeignState` hears of an answer to another login. */
export async function listenOnLoopback(state: string, onForeignState: () => void): Promise<Loopback> {
  const answered = Promise.withResolvers<URL>();
  // Nobody may be waiting yet, or any more.
  answered.promise.catch(() => undefined);
  let expected: Expected | undefined;
  const server = createServer({ maxHeaderSize: MAX_REQUEST_BYTES, requestTimeout: REQUEST_TIMEOUT_MS });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!expected) return void response.destroy();
    const judged = judgeLoopback({ method: request.method, target: request.url, host: request.headers.host }, expected);
    if (judged.kind === 'answer') {
      expected = undefined;
      response.once('close', () => answered.resolve(judged.url));
      return reply(response, 200, judged.url.searchParams.has('error') ? REFUSED : TAKEN);
    }
    if (judged.why === 'state') onForeignState();
    reply(response, judged.status, judged.why === 'state' ? FOREIGN : NOTHING);
  });
  const authority = await listen(server);
  expected = { authority, path: PATH, state };
  return {
    redirectUri: `http://${authority}${PATH}`,
    answer: async (signal) => {
      const aborted = (): void => answered.reject(signal.reason);
      signal.addEventListener('abort', aborted, { once: true });
      try {
        signal.throwIfAborted();
        return await answered.promise;
      } finally {
        signal.removeEventListener('abort', aborted);
      }
    },
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function listen(server: Server): Promise<string> {
  let lastError: unknown;
  for (const host of HOSTS) {
    try {
      server.listen({ port: 0, host, exclusive: true });
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return host === '::1' ? `[::1]:${port}` : `${host}:${port}`;
    } catch (error) {
      lastError = error;
    }
  }
  const next = 'fairlead login --device';
  throw failure('UNAVAILABLE', `cannot listen for the browser: ${messageOf(lastError)}`, next, lastError);
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

const TAKEN = [
  'Fairlead has your answer',
  'Go on in the terminal: it says whether you are logged in. You can close this page.',
] as const;
const REFUSED = ['You were not logged in', 'The terminal says why. You can close this page.'] as const;
const FOREIGN = [
  'This does not belong to the login that is waiting',
  'Open the address that the terminal shows.',
] as const;
const NOTHING = ['There is nothing here', 'This port waits for the end of one login, and for nothing else.'] as const;

/** A page of fixed text: nothing of the request is in it, nothing is loaded for it, and it leads nowhere. */
function reply(response: ServerResponse, status: number, [title, text]: readonly [string, string]): void {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>\n`;
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(page),
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(page);
}
