import type { Duplex } from 'node:stream';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { CLOSE_CODES, FramePosition, closeFrame } from '@fairlead/kube-http';
import { isRefusal } from '../../passage/outcome.js';

/** What is under way may take so long to come to its end: nobody goes on much longer than their access. */
const REST_MS = 300;
/** What was said last may take so long to be taken. */
const LINGER_MS = 500;

/**
 * Ends a WebSocket so that the client hears why, by a close frame of our own (RFC 6455, 5.5.1), between two frames of the far end. Where one is under way and does not
 * come to its end, or the client takes nothing, the connection breaks off.
 */
export class WebSocketEnd {
  readonly #position = new FramePosition();
  readonly #socket: Duplex;
  readonly #tunnel: Duplex;
  #cause: FairleadError | undefined;

  /** To be made once the two are bridged, and before anything came through. */
  constructor(socket: Duplex, tunnel: Duplex) {
    this.#socket = socket;
    this.#tunnel = tunnel;
    tunnel.on('data', (chunk: Buffer) => {
      this.#position.push(chunk);
      if (this.#cause && this.#position.isBetween) tunnel.destroy(this.#cause);
    });
  }

  /** What the client sends from now on goes nowhere; what the tunnel has taken of it already may still go on until it ends. */
  end(cause: FairleadError): void {
    if (this.#cause) return;
    this.#cause = cause;
    this.#dropRest();
    const tunnel = this.#tunnel;
    // Its far end has ended in order: only the client has not taken all of it.
    if (tunnel.destroyed) this.#socket.destroy();
    else if (this.#position.isBetween) tunnel.destroy(cause);
    else after(REST_MS, tunnel, () => tunnel.destroy(cause));
  }

  /** The tunnel is gone, by us or by itself: ends the client's side. */
  reset(): void {
    const socket = this.#socket;
    if (!this.#position.isBetween || socket.destroyed) {
      socket.destroy();
      return;
    }
    this.#dropRest();
    socket.end(frameOf(this.#cause ?? toFairleadError(this.#tunnel.errored ?? BROKEN)));
    after(LINGER_MS, socket, () => socket.destroy());
  }

  /** Of the client, its own close frame among it: unread, it would break off what it is told. */
  #dropRest(): void {
    this.#socket.removeAllListeners('data').resume();
  }
}

const BROKEN = new FairleadError('TUNNEL_RESET', 'the tunnel broke off');

/** Whoever has done nothing that they may not is told to try again. */
function frameOf(cause: FairleadError): Buffer {
  if (isRefusal(cause)) return closeFrame(CLOSE_CODES.policyViolation, cause.message);
  return closeFrame(CLOSE_CODES.goingAway, `${cause.message}; run the command again`);
}

/** Unless the stream closes before. */
function after(ms: number, stream: Duplex, then: () => void): void {
  const timer = setTimeout(then, ms);
  stream.once('close', () => clearTimeout(timer));
}
