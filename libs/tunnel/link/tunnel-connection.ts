import { FairleadError, fromWire, toFairleadError } from '@fairlead/errors';
import type { Http2Stream } from '@fairlead/http2';
import type { Open } from '@fairlead/proto';
import {
  FrameDecoder,
  LIMITS,
  PARKED,
  encodeControl,
  encodeDataHeader,
  stepTunnel,
  type ControlKind,
  type TunnelRole,
  type TunnelState,
} from '../core/index.js';
import { abandonStream, endStream } from './grpc-stream.js';
import { Duplex } from 'node:stream';

type Answer = { resolve: () => void; reject: (error: FairleadError) => void };
type Written = (error?: Error | null) => void;

/** A Duplex that node:http takes for a socket: what it sets on one has no meaning here, and is ignored. */
class SocketLike extends Duplex {
  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * One tunnel as a Node Duplex, on one HTTP/2 stream. What is written arrives exactly, `end()` is a half-close, and
 * `destroy()` before both ends ended is a reset that the peer sees. Buffers: at most its own high-water mark plus the
 * stream's HTTP/2 window; beyond that the peer is stopped, and nobody else.
 *
 * The opener calls `open()`; the acceptor waits for 'open' and then calls `accept()` or `refuse()`.
 */
export class TunnelConnection extends SocketLike {
  readonly #stream: Http2Stream;
  readonly #role: TunnelRole;
  readonly #decoder = new FrameDecoder();
  #state: TunnelState = PARKED;
  #answer: Answer | null = null;
  /** The write that waits for the stream to drain. */
  #waiting: Written | null = null;
  /** Came and lies in our own buffer: the peer gets its window back when somebody reads. */
  #unreadBytes = 0;
  #full = false;

  constructor(stream: Http2Stream, role: TunnelRole) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: LIMITS.tunnelBufferBytes,
      writableHighWaterMark: LIMITS.tunnelBufferBytes,
    });
    this.#stream = stream;
    this.#role = role;
    // Who cares about the cause reads it from the rejected open(), or listens; nobody listening must not end the process.
    this.on('error', () => {});
    stream.attach({
      onData: (chunk) => this.#onBytes(chunk),
      onDrain: () => this.#onDrain(),
      onEnd: () => this.#onLost(),
      onClose: () => this.#onLost(),
    });
    // It may have gone while it was handed over.
    if (stream.closed) this.#onLost();
  }

  /** Taken in and not passed on yet, in either direction, the stream's own buffers among it. */
  get heldBytes(): number {
    return this.readableLength + this.writableLength + this.#stream.pendingBytes;
  }

  get state(): TunnelState {
    return this.#state;
  }

  /**
   * Asks for the target. Resolves when the far end has it; rejects with the code of its refusal, with TUNNEL_RESET if
   * the stream broke, or with the signal's reason. No payload has moved when it rejects.
   */
  async open(open: Open, signal: AbortSignal): Promise<void> {
    await this.#ask(open, signal);
    // Opened and the end can come in one read: nobody is to be handed a tunnel that has told its end already.
    if (this.destroyed) throw this.errored ? toFairleadError(this.errored) : lost();
  }

  #ask(open: Open, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#answer = null;
        reject(toFairleadError(signal.reason));
        this.destroy();
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      if (this.#state.phase !== 'parked') {
        reject(lost());
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          signal.removeEventListener('abort', onAbort);
          then(value);
        };
      this.#answer = { resolve: settle<void>(resolve), reject: settle(reject) };
      this.#send({ case: 'open', value: open });
    });
  }

  /** The acceptor has the target: bytes may flow. */
  accept(): void {
    this.#send({ case: 'opened', value: { $typeName: 'fairlead.link.v1.Opened' } });
  }

  /** The acceptor does not have the target: the tunnel ends here, before any byte. */
  refuse(error: FairleadError): void {
    const { code, message } = error;
    this.#send({ case: 'refused', value: { $typeName: 'fairlead.link.v1.Refused', code, message } });
    this.destroy();
  }

  override _read(): void {
    const bytes = this.#unreadBytes;
    this.#unreadBytes = 0;
    this.#full = false;
    if (bytes > 0) this.#stream.taken(bytes);
  }

  override _write(chunk: Buffer, _encoding: string, done: Written): void {
    if (this.#state.phase !== 'open') {
      done(lost());
      return;
    }
    let accepted = true;
    for (let at = 0; at < chunk.length; at += LIMITS.dataPayloadBytes) {
      const payload = chunk.subarray(at, at + LIMITS.dataPayloadBytes);
      accepted = this.#stream.write(encodeDataHeader(payload.length), payload);
    }
    if (accepted) done();
    else this.#waiting = done;
  }

  override _final(done: Written): void {
    // A tunnel that was never opened has no direction to end.
    if (this.#state.phase === 'open') this.#send({ case: 'eof', value: { $typeName: 'fairlead.link.v1.Eof' } });
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#state.phase !== 'closed') {
      const { code, message } = error
        ? toFairleadError(error).toWire()
        : { code: 'TUNNEL_RESET', message: 'the peer went away' };
      this.#send({ case: 'reset', value: { $typeName: 'fairlead.link.v1.Reset', code, message } });
    }
    this.#answer?.reject(error ? toFairleadError(error) : lost());
    this.#answer = null;
    this.#waiting?.(error ?? lost());
    this.#waiting = null;
    this.#finish();
    // What was not read is not going to be: it must not count against the peer while it goes on to its own end.
    this._read();
    done(error);
  }

  #send(kind: ControlKind): void {
    this.#transition('send', kind.case);
    this.#stream.write(encodeControl(kind));
    if (this.#state.phase === 'closed') this.#finish();
  }

  #onDrain(): void {
    const done = this.#waiting;
    this.#waiting = null;
    done?.();
  }

  #onBytes(chunk: Buffer): void {
    // What a peer says after the end is not heard: it must not disturb what is still to be read here.
    if (!this.destroyed && !this.#closed) this.#decode(chunk);
    if (this.#full && !this.destroyed) this.#unreadBytes += chunk.length;
    else this.#stream.taken(chunk.length);
  }

  #decode(chunk: Buffer): void {
    try {
      this.#decoder.push(chunk, {
        onData: (piece) => {
          if (this.#closed) return;
          this.#transition('receive', 'data');
          if (!this.push(piece)) this.#full = true;
        },
        onControl: (kind) => this.#onControl(kind),
      });
    } catch (error) {
      this.destroy(toFairleadError(error));
    }
  }

  get #closed(): boolean {
    return this.#state.phase === 'closed';
  }

  #onControl(kind: ControlKind): void {
    if (this.#closed) return;
    this.#transition('receive', kind.case);
    switch (kind.case) {
      case 'open':
        this.emit('open', kind.value);
        break;
      case 'opened':
        this.#answer?.resolve();
        this.#answer = null;
        break;
      case 'eof':
        this.push(null);
        if (this.#state.phase === 'closed') this.#finish();
        break;
      case 'refused':
      case 'reset':
        this.#answer?.reject(fromWire(kind.value));
        this.#answer = null;
        this.destroy(fromWire(kind.value));
        break;
    }
  }

  #onLost(): void {
    if (this.#state.phase === 'closed') return;
    this.#state = stepTunnel(this.#role, this.#state, { direction: 'lost' });
    this.destroy(lost());
  }

  #transition(direction: 'send' | 'receive', frame: Exclude<ControlKind['case'] | 'data', undefined>): void {
    this.#state = stepTunnel(this.#role, this.#state, { direction, frame });
  }

  #finish(): void {
    if (this.#state.phase === 'closed' && this.#state.cause === 'complete') endStream(this.#stream);
    else abandonStream(this.#stream);
  }
}

function lost(): FairleadError {
  return new FairleadError('TUNNEL_RESET', 'the tunnel broke off: its link or the peer is gone');
}
