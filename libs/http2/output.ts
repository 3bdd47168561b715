import type { Duplex } from 'node:stream';
import type { HeaderField } from './hpack/index.js';
import type { Http2Stream } from './stream.js';
import { FLAG, FRAME } from './wire/constants.js';
import { frameHeader } from './wire/frames.js';

/** What the writing end of a session has to know of it. */
export interface OutputHost {
  readonly maxFrameBytes: number;
  /** What the peer lets the whole connection send. */
  connectionSendWindow: number;
  sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void;
}

/** Given to the socket and not taken by the kernel yet: enough that it never waits for us, and little enough for turns. */
const IN_FLIGHT_BYTES = 256 * 1024;
/** What one stream may send in one turn. */
const TURN_BYTES = 64 * 1024 + 64;
/** Frames that answer the peer, and wait because it does not read: far more than an honest one ever has outstanding. */
const MAX_WAITING_CONTROL = 1_000;

/**
 * Writes a session's frames, once per turn of the event loop, in one write. Control frames first; then the streams in
 * turns of 64 KiB, and a stream that has just begun to have something before those that had more than one turn's worth:
 * so a few bytes never wait behind what bulk transfers have queued (the idea of RFC 8290's sparse flows).
 */
export class Output {
  readonly #socket: Duplex;
  readonly #host: OutputHost;
  readonly #onUnread: () => void;
  #control: Buffer[] = [];
  readonly #fresh: Http2Stream[] = [];
  readonly #backlog: Http2Stream[] = [];
  /** Wait for the connection's window. */
  #blocked: Http2Stream[] = [];
  #scheduled = false;
  #inFlightBytes = 0;
  #stopped = false;

  /** `onUnread` is called when the peer lets answers pile up. */
  constructor(socket: Duplex, host: OutputHost, onUnread: () => void) {
    this.#socket = socket;
    this.#host = host;
    this.#onUnread = onUnread;
  }

  /** Given to the socket, and not taken by the kernel yet. */
  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** A frame that is not DATA: goes before all DATA that was not written yet. */
  control(frame: Buffer): void {
    if (this.#stopped) return;
    this.#control.push(frame);
    if (this.#control.length > MAX_WAITING_CONTROL && this.#isFull) this.#onUnread();
    else this.#schedule();
  }

  /** A stream has something to send. */
  ready(stream: Http2Stream): void {
    if (stream.queued || this.#stopped || !stream.sendable) return;
    stream.queued = true;
    this.#fresh.push(stream);
    this.#schedule();
  }

  /** The connection's window opened. */
  windowOpened(): void {
    if (this.#blocked.length === 0) return;
    this.#backlog.push(...this.#blocked);
    this.#blocked = [];
    this.#schedule();
  }

  /** Writes what waits, now, and then nothing any more. */
  finish(...last: readonly Buffer[]): void {
    if (this.#stopped) return;
    this.#stopped = true;
    const frames = [...this.#control, ...last];
    if (frames.length > 0 && this.#socket.writable) this.#socket.write(Buffer.concat(frames));
  }

  get #isFull(): boolean {
    return this.#inFlightBytes >= IN_FLIGHT_BYTES;
  }

  #schedule(): void {
    if (this.#scheduled || this.#isFull) return;
    this.#scheduled = true;
    // All that is read in this turn is answered and passed on in one write.
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#stopped || !this.#socket.writable) return;
    const frames = this.#control;
    this.#control = [];
    let bytes = 0;
    for (const each of frames) bytes += each.length;
    const served: Http2Stream[] = [];
    while (bytes + this.#inFlightBytes < IN_FLIGHT_BYTES) {
      const stream = this.#fresh.shift() ?? this.#backlog.shift();
      if (!stream) break;
      bytes += this.#serve(stream, frames);
      served.push(stream);
    }
    // Headers of streams that ended with trailers.
    for (const each of this.#control.splice(0)) {
      frames.push(each);
      bytes += each.length;
    }
    if (frames.length > 0) this.#write(frames, bytes);
    for (const stream of served) stream.tellDrained();
  }

  #write(frames: readonly Buffer[], bytes: number): void {
    this.#inFlightBytes += bytes;
    const written = (): void => {
      this.#inFlightBytes -= bytes;
      if (this.#control.length + this.#fresh.length + this.#backlog.length > 0) this.#schedule();
    };
    this.#socket.cork();
    frames.forEach((each, index) => this.#socket.write(each, index === frames.length - 1 ? written : undefined));
    this.#socket.uncork();
  }

  /** One turn of one stream. Returns how many bytes it put among the frames. */
  #serve(stream: Http2Stream, frames: Buffer[]): number {
    stream.queued = false;
    if (!stream.sendable) return 0;
    const host = this.#host;
    const wanted = Math.min(stream.pendingBytes, stream.sendWindow, host.maxFrameBytes, TURN_BYTES);
    const bytes = Math.min(wanted, host.connectionSendWindow);
    if (wanted > 0 && bytes <= 0) {
      stream.queued = true;
      this.#blocked.push(stream);
      return 0;
    }
    const before = frames.length;
    if (bytes > 0) {
      host.connectionSendWindow -= bytes;
      frames.push(frameHeader(FRAME.data, 0, stream.id, bytes));
      stream.unload(bytes, (piece) => frames.push(piece));
    }
    this.#endIfDue(stream, frames, before);
    if (stream.sendable) {
      stream.queued = true;
      this.#backlog.push(stream);
    }
    return bytes + 9;
  }

  #endIfDue(stream: Http2Stream, frames: Buffer[], dataHeaderAt: number): void {
    const end = stream.dueEnd;
    if (!end) return;
    const dataHeader = frames[dataHeaderAt];
    if (end.trailers) {
      this.#flushTrailers(stream, end.trailers, frames);
    } else if (dataHeader) {
      dataHeader[4] = FLAG.endStream;
    } else {
      frames.push(frameHeader(FRAME.data, FLAG.endStream, stream.id, 0));
    }
    stream.sentEnd();
  }

  /** After the stream's own DATA, which stands among the frames already. */
  #flushTrailers(stream: Http2Stream, trailers: readonly HeaderField[], frames: Buffer[]): void {
    this.#host.sendHeaders(stream, trailers, true);
    frames.push(...this.#control.splice(0));
  }
}
