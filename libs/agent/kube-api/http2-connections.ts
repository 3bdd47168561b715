import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { connect, type SecureContext, type TLSSocket } from 'node:tls';
import { startDeadline } from '@fairlead/clock';
import {
  DEFAULT_ABUSE_LIMITS,
  connectHttp2,
  type HeaderField,
  type Http2Session,
  type Http2Stream,
  type SessionOptions,
} from '@fairlead/http2';
import { headerPairs } from '@fairlead/kube-http';
import { LIMITS } from '@fairlead/tunnel/core';
import { TUNNEL_SESSION_OPTIONS, handshake, keepAlive } from '@fairlead/tunnel/link';
import { Http2Request } from './http2-request.js';
import { MAX_HEADER_BYTES } from './kube-api-target.js';

const DIAL_TIMEOUT_MS = 10_000;
/** As client-go has it: a connection that nobody uses is closed, and a silent peer is asked whether it is there. */
const IDLE_MS = 90_000;
const KEEPALIVE = { intervalMs: 30_000, timeoutMs: 15_000 };
/** Requests of one connection at once, if the kube-apiserver allows as many: what is lost on it concerns them all. */
const STREAMS = 250;
/** Of one answer that nobody reads. */
const STREAM_WINDOW_BYTES = 128 * 1024;
/** All of a connection together may hold as much each, and what those in a hurry share: none waits for another. */
const CONNECTION_WINDOW_BYTES =
  STREAMS * STREAM_WINDOW_BYTES + LIMITS.grownBytesPerSession + LIMITS.provenBytesPerSession;
/** How long a kube-apiserver that does not speak HTTP/2 is not asked again: one may stand behind a balancer that does not pass it on. */
const WITHOUT_MS = 10 * 60_000;

const SESSION_OPTIONS: SessionOptions = {
  // It begins none.
  maxConcurrentStreams: 0,
  streamWindowBytes: STREAM_WINDOW_BYTES,
  ...(TUNNEL_SESSION_OPTIONS.growth ? { growth: TUNNEL_SESSION_OPTIONS.growth } : {}),
  headers: { maxListBytes: MAX_HEADER_BYTES, maxFields: 1_000 },
  abuse: {
    ...DEFAULT_ABUSE_LIMITS,
    // Watches that end at once leave behind what was on its way to them.
    ignoredFrames: { burst: 100_000, perSecond: 20_000 },
    windowUpdates: { burst: 100_000, perSecond: 20_000 },
    resets: { burst: 10_000, perSecond: 1_000 },
  },
};

export interface Http2Server {
  readonly host: string;
  readonly port: number;
  /** With its authority. */
  readonly secureContext: SecureContext;
}

export interface Asked {
  readonly incoming: IncomingMessage;
  /** All that it is to be asked with; none speaks of one connection only. */
  readonly headers: readonly string[];
  readonly hasBody: boolean;
  readonly fresh: boolean;
}

/** Connections to one server by HTTP/2, for whoever asks: what is asked on them says itself in whose name. */
export class Http2Connections {
  readonly #server: Http2Server;
  readonly #nowMs: () => number;
  readonly #sessions = new Set<Http2Session>();
  readonly #used = new WeakSet<Http2Session>();
  #dialling: Promise<Http2Session | null> | undefined;
  #withoutUntilMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(server: Http2Server, nowMs: () => number) {
    this.#server = server;
    this.#nowMs = nowMs;
  }

  /** Whether the server speaks HTTP/2. Dials it to know that; rejects if it cannot be reached. */
  async isSpoken(): Promise<boolean> {
    if (this.#nowMs() < this.#withoutUntilMs) return false;
    return this.#ready(false) !== undefined || (await this.#dialled()) !== null;
  }

  /** A request on a session with room for it; `fresh`: on one that nobody has asked on before. What keeps it from being sent it tells as its error. */
  request({ incoming, headers, hasBody, fresh }: Asked): Http2Request {
    const fields = this.#fields(incoming, headers);
    return new Http2Request({
      begin: () => this.#begin(fields, { endStream: !hasBody }, fresh),
      hasBody,
      answerHasNoBody: incoming.method === 'HEAD',
    });
  }

  #fields({ method = 'GET', url = '/' }: IncomingMessage, headers: readonly string[]): HeaderField[] {
    const { host, port } = this.#server;
    const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const fields: HeaderField[] = [
      [':method', method],
      [':scheme', 'https'],
      [':authority', authority],
      [':path', url],
    ];
    for (const [name, value] of headerPairs(headers)) {
      const lower = name.toLowerCase();
      // The authority says it.
      if (lower !== 'host') fields.push([lower, value]);
    }
    return fields;
  }

  async #begin(
    fields: readonly HeaderField[],
    how: { readonly endStream: boolean },
    fresh: boolean,
  ): Promise<{ readonly stream: Http2Stream; readonly used: boolean }> {
    for (;;) {
      const ready = this.#ready(fresh);
      if (ready) {
        const used = this.#used.has(ready);
        this.#used.add(ready);
        return { stream: ready.request(fields, how), used };
      }
      if ((await this.#dialled()) === null) throw new Error('the server does not speak HTTP/2 any more');
    }
  }

  #ready(fresh: boolean): Http2Session | undefined {
    for (const session of this.#sessions) if (hasRoom(session) && !(fresh && this.#used.has(session))) return session;
    return undefined;
  }

  /** Whoever comes while one is dialled waits for the same. */
  #dialled(): Promise<Http2Session | null> {
    this.#dialling ??= this.#dial().finally(() => (this.#dialling = undefined));
    return this.#dialling;
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.destroy();
  }

  async #dial(): Promise<Http2Session | null> {
    const socket = await dialTls(this.#server);
    if (this.#closed) {
      socket.destroy();
      throw new Error('the agent is stopping');
    }
    if (socket.alpnProtocol !== 'h2') {
      this.#withoutUntilMs = this.#nowMs() + WITHOUT_MS;
      socket.destroy();
      return null;
    }
    const session = connectHttp2(socket, SESSION_OPTIONS);
    session.setConnectionWindow(CONNECTION_WINDOW_BYTES);
    keepAlive(session, KEEPALIVE);
    this.#sessions.add(session);
    session.once('goaway', () => this.#leave(session));
    session.once('close', () => this.#sessions.delete(session));
    this.#endWhenIdle(session);
    return session;
  }

  /** What is under way on it goes on. */
  #leave(session: Http2Session): void {
    this.#sessions.delete(session);
    if (session.streams.size === 0) session.destroy();
  }

  #endWhenIdle(session: Http2Session): void {
    let bytesBefore = -1;
    const timer = setInterval(() => {
      const isIdle = session.streams.size === 0 && (!this.#sessions.has(session) || session.bytesRead === bytesBefore);
      bytesBefore = session.bytesRead;
      if (isIdle) session.destroy();
    }, IDLE_MS);
    timer.unref();
    session.once('close', () => clearInterval(timer));
  }
}

function hasRoom(session: Http2Session): boolean {
  return session.hasRoom && session.streams.size < STREAMS;
}

/** Resolves when the server has shown who it is. */
async function dialTls({ host, port, secureContext }: Http2Server): Promise<TLSSocket> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host, port, secureContext, ALPNProtocols: ['h2', 'http/1.1'], ...name });
  // Later errors are for whoever has it; unheard until then, one would end the process.
  socket.on('error', () => undefined);
  const late = (): Error => new Error(`no connection within ${DIAL_TIMEOUT_MS / 1_000} s`);
  const deadline = startDeadline(new AbortController().signal, DIAL_TIMEOUT_MS, late);
  try {
    await handshake(socket, deadline.signal);
    return socket;
  } finally {
    deadline.clear();
  }
}
