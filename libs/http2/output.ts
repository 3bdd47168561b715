import type { Duplex } from 'node:stream';
import type { PeerSettings } from './settings.js';
import type { Http2Stream } from './stream.js';
import { FLAG, FRAME } from './wire/constants.js';
import { frameHeader, headersFrames } from './wire/frames.js';

/** What the peer lets us send, as of now. */
export interface SendLimits extends PeerSettings {
  /** On the whole connection. */
  connectionSendWindow: number;
}

/** Given to the socket and not taken by the kernel yet: enough that it never waits for us, and little enough for turns. */
const IN_FLIGHT_BYTES = 256 * 1024;
/** What one stream may send in one turn. */
const TURN_BYTES = 64 * 1024 + 64;
/** After so much of fresh streams one of the others has a turn: many streams that each say little would starve them. */
const FRESH_BYTES = 256 * 1024;
/** Control frames of one turn are written before it ends once they are so many bytes: a peer that asks as fast as it can fills no queue. */
const CONTROL_BYTES = 16 * 1024;
/** Streams that are gone may stand in the lists until there are this many. */
const MOST_GONE = 64;

/**
 * Writes a session's frames, once per turn of the event loop, in one write. Control frames first; then the streams in
 * turns of 64 KiB, and a stream that has just begun to have something before those that had more than one turn's worth:
 * so a few bytes never wait behind what bulk transfers have queued (the idea of RFC 8290's sparse flows).
 */
export class Output {
  readonly #socket: Duplex;
  readonly #limits: SendLimits;
  readonly #maxWaiting: number;
  readonly #onUnread: () => void;
  #control: Buffer[] = [];
  #controlBytes = 0;
  #dataFrames = 0;
  #fresh: Http2Stream[] = [];
  #backlog: Http2Stream[] = [];
  /** Wait for the connection's window. */
  #blocked: Http2Stream[] = [];
  #gone = 0;
  #freshBytes = 0;
  #scheduled = false;
  #inFlightBytes = 0;
  #stopped = false;

  /** `onUnread` is called when the peer does not read and more than `maxWaiting` control frames wait for it. */
  constructor(socket: Duplex, limits: SendLimits, maxWaiting: number, onUnread: () => void) {
    this.#socket = socket;
    this.#limits = limits;
    this.#maxWaiting = maxWaiting;
    this.#onUnread = onUnread;
  }

  /** Given to the socket, and not taken by the kernel yet. */
  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Control frames that were not given to the socket yet. */
  get waitingControlBytes(): number {
    return this.#controlBytes;
  }

  /** DATA frames so far, without those that only end a stream. */
  get dataFrames(): number {
    return this.#dataFrames;
  }

  /** A frame that is not DATA: goes before all DATA that was not written yet. */
  control(frame: Buffer): void {
    if (this.#stopped) return;
    this.#control.push(frame);
    this.#controlBytes += frame.length;
    if (!this.#isFull && this.#controlBytes >= CONTROL_BYTES) this.#flushControl();
    else if (this.#control.length > this.#maxWaiting && this.#isFull) this.#onUnread();
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

  /** A stream is gone. A peer that reads nothing, or opens no window, must not make us keep it. */
  gone(stream: Http2Stream): void {
    if (!stream.queued) return;
    this.#gone += 1;
    const listed = this.#fresh.length + this.#backlog.length + this.#blocked.length;
    if (this.#gone < MOST_GONE || this.#gone * 2 < listed) return;
    this.#gone = 0;
    this.#fresh = this.#fresh.filter(({ closed }) => !closed);
    this.#backlog = this.#backlog.filter(({ closed }) => !closed);
    this.#blocked = this.#blocked.filter(({ closed }) => !closed);
  }

  /** Writes the control frames that wait, unless the peer does not read them, and `last`, now; and then nothing any more. */
  finish(...last: readonly Buffer[]): void {
    if (this.#stopped) return;
    this.#stopped = true;
    const { frames: waiting } = this.#takeControl();
    const frames = this.#isFull ? last : [...waiting, ...last];
    this.#fresh = [];
    this.#backlog = [];
    this.#blocked = [];
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

  /** Calls nobody before everything is with the socket: what they do may make frames that have to come after these. */
  #flush(): void {
    if (this.#stopped || !this.#socket.writable) return;
    const taken = this.#takeControl();
    const { frames } = taken;
    let { bytes } = taken;
    const served: Http2Stream[] = [];
    while (bytes + this.#inFlightBytes < IN_FLIGHT_BYTES) {
      const stream = this.#next();
      if (!stream) break;
      bytes += this.#serve(stream, frames);
      served.push(stream);
    }
    if (frames.length > 0) this.#write(frames, bytes);
    for (const stream of served) stream.afterTurn();
  }

  /** Calls nobody: who asked for a control frame is in the middle of something. */
  #flushControl(): void {
    if (!this.#socket.writable) return;
    const { frames, bytes } = this.#takeControl();
    this.#write(frames, bytes);
  }

  #takeControl(): { readonly frames: Buffer[]; readonly bytes: number } {
    const taken = { frames: this.#control, bytes: this.#controlBytes };
    this.#control = [];
    this.#controlBytes = 0;
    return taken;
  }

  #next(): Http2Stream | undefined {
    if (this.#freshBytes < FRESH_BYTES) {
      const fresh = this.#fresh.shift();
      if (fresh) {
        this.#freshBytes += Math.min(fresh.pendingBytes, TURN_BYTES);
        return fresh;
      }
    }
    this.#freshBytes = 0;
    return this.#backlog.shift() ?? this.#fresh.shift();
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
    const limits = this.#limits;
    const wanted = Math.min(stream.pendingBytes, stream.sendWindow, limits.maxFrameBytes, TURN_BYTES);
    const bytes = Math.min(wanted, limits.connectionSendWindow);
    if (wanted > 0 && bytes <= 0) {
      stream.queued = true;
      this.#blocked.push(stream);
      return 0;
    }
    const before = frames.length;
    if (bytes > 0) {
      limits.connectionSendWindow -= bytes;
      this.#dataFrames += 1;
      frames.push(frameHeader(FRAME.data, 0, stream.id, bytes));
      stream.unload(bytes, frames);
    }
    const ending = this.#endIfDue(stream, frames, before);
    if (stream.sendable) {
      stream.queued = true;
      this.#backlog.push(stream);
    }
    // Nothing is left to send but the end where a window that shrank below zero makes `bytes` less than that.
    return bytes > 0 ? bytes + 9 + ending : ending;
  }

  /** Returns how many bytes that took. */
  #endIfDue(stream: Http2Stream, frames: Buffer[], dataHeaderAt: number): number {
    if (!stream.endIsDue) return 0;
    stream.sentEnd();
    const dataHeader = frames[dataHeaderAt];
    if (!stream.trailers && dataHeader) {
      dataHeader[4] = FLAG.endStream;
      return 0;
    }
    const end = stream.trailers
      ? headersFrames(stream.id, stream.trailers, true, this.#limits.maxFrameBytes)
      : frameHeader(FRAME.data, FLAG.endStream, stream.id, 0);
    frames.push(end);
    return end.length;
  }
}
