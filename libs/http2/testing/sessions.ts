import { DEFAULT_ABUSE_LIMITS, type SessionOptions } from '../options.js';
import { Http2Session } from '../session.js';
import type { Http2Stream } from '../stream.js';
import { RawPeer } from './raw-peer.js';
import { tlsPair } from './tls-pair.js';

export const OPTIONS: SessionOptions = {
  maxConcurrentStreams: 128,
  streamWindowBytes: 256 * 1024,
  headers: { maxListBytes: 16 * 1024, maxFields: 64 },
  abuse: DEFAULT_ABUSE_LIMITS,
};

/** One of our sessions, and what became of it. */
export interface Watched {
  readonly session: Http2Session;
  /** Streams that the peer began, in their order. */
  readonly arrived: Http2Stream[];
  /** What the session was ended for. */
  readonly causes: (Error | null)[];
}

export function watched(session: Http2Session): Watched {
  const arrived: Http2Stream[] = [];
  const causes: (Error | null)[] = [];
  session.on('stream', (stream) => arrived.push(stream));
  session.on('ending', (cause) => causes.push(cause));
  return { session, arrived, causes };
}

export interface RawAndOurs extends Watched, AsyncDisposable {
  readonly peer: RawPeer;
}

/** Our server, and a client that writes what it likes. */
export async function againstClient(
  options: Partial<SessionOptions> = {},
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawAndOurs> {
  const pair = await tlsPair();
  const ours = watched(new Http2Session(pair.server, 'server', { ...OPTIONS, ...options }));
  const peer = RawPeer.client(pair.client, settings);
  return { ...ours, peer, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
}

/** Our client, and a server that writes what it likes. */
export async function againstServer(
  options: Partial<SessionOptions> = {},
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawAndOurs> {
  const pair = await tlsPair();
  const ours = watched(new Http2Session(pair.client, 'client', { ...OPTIONS, ...options }));
  const peer = RawPeer.server(pair.server, settings);
  return { ...ours, peer, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
}

export interface OursAndOurs extends AsyncDisposable {
  readonly client: Watched;
  readonly server: Watched;
}

export async function ourPair(options: Partial<SessionOptions> = {}): Promise<OursAndOurs> {
  const pair = await tlsPair();
  return {
    client: watched(new Http2Session(pair.client, 'client', { ...OPTIONS, ...options })),
    server: watched(new Http2Session(pair.server, 'server', { ...OPTIONS, ...options })),
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}
