import type { Http2SecureServer, Http2ServerRequest } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ConnectionShares } from '../../limits/connection-shares.js';
import { endLater, noteImpatience } from './refuse.js';
import type { DoorRequest } from './door-request.js';
import { FirstHttp2Heads } from './first-http2-head.js';
import { readHead, type FirstHeadLimits } from './read-head.js';

const END = Buffer.from('\r\n\r\n');
const [CR, LF] = [13, 10];
/** Of a body without a length, as much as is given to the parser at once: it may hold requests, and each of them costs 2 KB. */
const CHUNKED_SLICE_BYTES = 4 * 1024;

const answer = (status: string): string => `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;
const TIMED_OUT = answer('408 Request Timeout');
const TOO_LARGE = answer('431 Request Header Fields Too Large');

/**
 * Gives Node's HTTP/1.1 parser the first head of a connection (of HTTP/2: see FirstHttp2Heads), and nothing behind it until somebody was let in by that. Node parses all that it has
 * read in one go, thousands of requests, whatever becomes of the first one. To be made before the server listens and before
 * anybody else hears of its connections.
 */
export class FirstHeads {
  /** What came behind a head that nothing was decided about yet. */
  readonly #behind = new WeakMap<object, Buffer>();
  /** What stops that more is parsed of those whom the first head did not let in. */
  readonly #refused = new WeakMap<object, () => void>();
  readonly #limits: FirstHeadLimits;
  readonly #http2: FirstHttp2Heads;

  /** `onAbuse` is told of each connection of HTTP/2 that sent what no peer sends before its first request. */
  constructor(server: Http2SecureServer, limits: FirstHeadLimits, onAbuse: (address: string) => void) {
    this.#limits = limits;
    this.#http2 = new FirstHttp2Heads(server, limits, onAbuse);
    const serving = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
    const serve = (socket: TLSSocket): void => {
      for (const listener of serving) listener.call(server, socket);
    };
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#http2.read(socket, () => serve(socket));
      else this.#read(socket, () => serve(socket));
    });
  }

  /**
   * Does this request come behind one that was refused, and ended the connection? Then it is not looked at (RFC 9112, section 9.6), and
   * nothing more is.
   */
  comesBehindRefusal({ socket }: DoorRequest): boolean {
    const stop = this.#refused.get(socket);
    if (stop) noteImpatience(socket);
    stop?.();
    return stop !== undefined;
  }

  /** To be called in the turn of each request's event, once it is known whether it was let in. */
  decided(incoming: DoorRequest, connections: ConnectionShares): void {
    if (incoming.httpVersionMajor >= 2) {
      this.#http2.decided((incoming as Http2ServerRequest).stream.session, connections);
      return;
    }
    const socket = incoming.socket as TLSSocket;
    const behind = this.#behind.get(socket);
    if (!behind) return;
    this.#behind.delete(socket);
    if (!connections.isKnown(socket)) this.#refused.set(socket, feedBodyAlone(incoming, socket, behind));
    // The parser is still at the head.
    else if (behind.length > 0) process.nextTick(() => socket.destroyed || socket.unshift(behind));
  }

  #read(socket: TLSSocket, serve: () => void): void {
    const { maxHeaderBytes, headersTimeoutMs } = this.#limits;
    let read: Buffer = Buffer.alloc(0);
    const onLate = (): void => void socket.on('error', ignore).end(TIMED_OUT, () => socket.destroy());
    const onTooMany = (): void => {
      socket.on('error', ignore).write(TOO_LARGE);
      endLater(socket);
    };
    const onPiece = (piece: Buffer): (() => void) | undefined => {
      const from = Math.max(0, read.length - END.length + 1);
      read = withoutBlankLines(Buffer.concat([read, piece]));
      const at = read.indexOf(END, from > read.length ? 0 : from);
      if (at < 0) return read.length > maxHeaderBytes ? onTooMany : undefined;
      const [head, behind] = [read.subarray(0, at + END.length), read.subarray(at + END.length)];
      return () => this.#handOver(socket, [head, behind, socket.read() as Buffer | null], serve);
    };
    readHead(socket, { timeoutMs: headersTimeoutMs, onPiece, onTooMany, onLate });
  }

  #handOver(socket: TLSSocket, [head, ...behind]: readonly [Buffer, Buffer, Buffer | null], serve: () => void): void {
    this.#behind.set(socket, Buffer.concat(behind.filter((piece) => piece !== null)));
    serve();
    if (!socket.destroyed) socket.unshift(head);
  }
}

/** Some clients send them between requests, and none of them is the end of a head. */
function withoutBlankLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === CR || bytes[at] === LF) at += 1;
  return bytes.subarray(at);
}

/**
 * Whose connection ends with its answer has its body dropped by the parser, and what comes behind is not read at all. The result makes
 * nothing more be parsed.
 */
function feedBodyAlone({ headers }: DoorRequest, socket: TLSSocket, behind: Buffer): () => void {
  const parse = socket.listeners('data') as ((piece: Buffer) => void)[];
  const isChunked = headers['transfer-encoding'] !== undefined;
  let left = isChunked ? Infinity : Number(headers['content-length'] ?? 0);
  if (behind.length > left) noteImpatience(socket);
  const feed = (piece: Buffer): void => {
    const sliceBytes = isChunked ? CHUNKED_SLICE_BYTES : piece.length;
    for (let at = 0; at < piece.length && left > 0 && !socket.destroyed; at += sliceBytes) {
      const slice = piece.subarray(at, Math.min(at + Math.min(sliceBytes, left), piece.length));
      left -= slice.length;
      for (const listener of parse) listener.call(socket, slice);
    }
    if (left <= 0) socket.pause();
  };
  socket.removeAllListeners('data');
  // Node's parser reads the connection by itself until somebody else listens.
  socket.on('data', feed);
  if (left > 0 && behind.length > 0) process.nextTick(() => feed(behind));
  else if (left <= 0) socket.pause();
  return () => {
    left = 0;
    socket.pause();
  };
}

function ignore(): void {
  // The connection closes, of which those hear who wait for it.
}
