import type { Http2SecureServer, Http2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { HTTP2_CODE, goawayFrame, settingsFrame } from '@fairlead/http2';
import { clientAddressOf } from '@fairlead/limits';
import type { ConnectionShares } from '../../limits/connection-shares.js';
import { Http2HeadReader, countFrames, type Http2Head } from './http2-head-reader.js';
import { readHead, type FirstHeadLimits } from './read-head.js';
import { endLater } from './refuse.js';
import { holdSession, noteSocket, receiveAndRead, releaseSession, stopReading } from './session-sockets.js';

/** Beside the head: a preface, SETTINGS with all that a peer can set, and what may come behind it at once. */
const MORE_BYTES = 32 * 1024;
/** Some stacks send nothing until they have heard the server's SETTINGS, which Node sends: it has to wait for them no longer than this. */
const SILENT_MS = 100;
/** Frames that come at once behind the head of somebody who is not let in: acknowledgements, windows, a body, a few more requests. */
const PATIENT_FRAMES = 32;

/**
 * Gives Node a connection of HTTP/2 once the head of its first request is whole. Node looks at every frame that comes, and the peer has not shown who
 * it is: hundreds of thousands of WINDOW_UPDATE or PING cost more than all else that a gateway does. Whoever sends what no honest peer sends
 * before a request is told so and keeps a connection that nobody reads. So does who is not let in, and Node sees nothing of what came behind its
 * request.
 */
export class FirstHttp2Heads {
  /** What their peers sent on, of those about whom nothing was decided yet. */
  readonly #behind = new WeakMap<Http2Session, Buffer>();
  readonly #server: Http2SecureServer;
  readonly #limits: FirstHeadLimits;
  readonly #onAbuse: (address: string) => void;

  constructor(server: Http2SecureServer, limits: FirstHeadLimits, onAbuse: (address: string) => void) {
    this.#server = server;
    this.#limits = limits;
    this.#onAbuse = onAbuse;
  }

  /** Calls `serve` when Node may have it, which begins a session in that turn. */
  read(socket: TLSSocket, serve: () => void): void {
    const { maxHeaderBytes, headersTimeoutMs } = this.#limits;
    const reader = new Http2HeadReader(maxHeaderBytes + MORE_BYTES);
    const hello = setTimeout(() => {
      reader.awaitAcknowledgement();
      socket.write(settingsFrame([]));
    }, SILENT_MS).unref();
    socket.once('close', () => clearTimeout(hello));
    const refuse = (code: number): void => {
      clearTimeout(hello);
      this.#onAbuse(clientAddressOf(socket));
      socket.on('error', () => undefined).write(Buffer.concat([settingsFrame([]), goawayFrame(0, code)]));
      endLater(socket);
    };
    readHead(socket, {
      timeoutMs: headersTimeoutMs,
      onLate: () => void socket.destroy(),
      onTooMany: () => refuse(HTTP2_CODE.enhanceYourCalm),
      onPiece: (piece) => {
        const head = reader.push(piece);
        if (head.kind === 'incomplete') return undefined;
        if (head.kind === 'refused') return () => refuse(head.code);
        clearTimeout(hello);
        return () => {
          socket.on('error', () => undefined);
          // What TLS has decrypted already goes to whoever is there, piece by piece in this turn: then all of it is here, and none at the session.
          setImmediate(() => {
            if (!socket.destroyed) this.#handOver(socket, head, serve);
          });
        };
      },
    });
  }

  /** To be called in the turn of each request's event, once it is known whether it was let in. */
  decided(session: Http2Session | undefined, connections: ConnectionShares): void {
    if (!session) return;
    const behind = this.#behind.get(session);
    this.#behind.delete(session);
    if (!connections.isKnown(session)) {
      if (behind) this.#endFlood(session);
      return;
    }
    if (behind) receiveAndRead(session, behind);
    releaseSession(session);
  }

  #handOver(socket: TLSSocket, head: Http2Head & { kind: 'complete' }, serve: () => void): void {
    const rest = socket.read() as Buffer | null;
    const bytes = rest ? Buffer.concat([head.bytes, rest]) : head.bytes;
    const isPatient = countFrames(bytes, head.endsAt, PATIENT_FRAMES + 1) <= PATIENT_FRAMES;
    const onSession = (session: Http2Session): void => {
      noteSocket(session, socket);
      if (isPatient) return;
      this.#behind.set(session, bytes.subarray(head.endsAt));
      stopReading(session);
      // Node has told of a request by then, unless it was none.
      setImmediate(() => {
        if (this.#behind.delete(session)) this.#endFlood(session);
      });
    };
    socket.unshift(isPatient ? bytes : bytes.subarray(0, head.endsAt));
    this.#server.once('session', onSession);
    serve();
    this.#server.off('session', onSession);
  }

  #endFlood(session: Http2Session): void {
    if (!session.destroyed) this.#onAbuse(clientAddressOf(session.socket));
    holdSession(session);
  }
}
