import { SendBuffer, UnclaimedBytes } from './buffers.js';
import type { ResponseHead } from './header-rules.js';
import { encodeHeaders, type HeaderField } from './hpack/index.js';
import { GrowingWindow } from './window-growth.js';
import type { ReceiveWindow } from './windows.js';
import { CODE } from './wire/constants.js';

/** A stream asks its writer to wait from here on; what one write() brings is taken all the same. */
const WRITE_AHEAD_BYTES = 128 * 1024;

/**
 * One stream of a session: bytes both ways, each direction ended by its own end, or everything broken off by a reset.
 * Nothing is read ahead beyond the stream's window, and nothing written ahead beyond what the writer was told to stop at.
 */
export class Http2Stream {
  readonly id: number;
  readonly #host: StreamHost<Http2Stream>;
  /** What we let the peer send. */
  readonly window: ReceiveWindow;
  readonly pace = new GrowingWindow();
  #receiver: StreamReceiver | null = null;
  /** Came while nobody was attached. */
  #unclaimed: UnclaimedBytes | null = null;
  #trailersIn: readonly HeaderField[] | null = null;
  readonly #pending = new SendBuffer();
  #ending: 'no' | 'asked' | 'sent' = 'no';
  #trailersOut: Buffer | null = null;
  #mustDrain = false;
  #closedWith: number | null | undefined;
  #endTold = false;
  #answered: boolean;
  #settled = false;
  #closeListeners: (() => void)[] = [];
  /** What the peer lets us send. */
  sendWindow: number;
  /** Is in the session's list of those that have something to send. */
  queued = false;

  constructor(id: number, host: StreamHost<Http2Stream>, window: ReceiveWindow, sendWindow: number) {
    this.id = id;
    this.#host = host;
    this.window = window;
    this.#answered = host.role === 'server';
    this.sendWindow = sendWindow;
  }

  /** It came from the peer, and we answer it. */
  get answering(): boolean {
    return this.#host.role === 'server';
  }

  /** Gone: nothing comes any more, and nothing can be sent. */
  get closed(): boolean {
    return this.#closedWith !== undefined;
  }

  /** The peer ended its direction. */
  get ended(): boolean {
    return this.#trailersIn !== null;
  }

  /** The head of the answer came; or it is ours to give. */
  get answered(): boolean {
    return this.#answered;
  }

  /** DATA may come. */
  get expectsData(): boolean {
    return this.#answered && this.#trailersIn === null;
  }

  /** We did not end ours. */
  get writable(): boolean {
    return this.#ending === 'no' && !this.closed;
  }

  /** Bytes that wait to be sent, and bytes that came and were not taken. */
  get heldBytes(): number {
    return this.#pending.bytes + (this.#settled ? 0 : this.window.heldBytes);
  }

  get pendingBytes(): number {
    return this.#pending.bytes;
  }

  /** Hands everything that came, and that will come, to a receiver; the one before is told nothing any more. */
  attach(receiver: StreamReceiver): void {
    this.#receiver = receiver;
    // It may hand over to another one, let go, or cancel at any piece.
    while (this.#receiver === receiver) {
      const came = this.#unclaimed?.shift();
      if (!came) break;
      receiver.onData(came);
    }
    this.#tellEnd();
  }

  /** What comes from now on waits for the next receiver. */
  detach(): void {
    this.#receiver = null;
  }

  /** Calls it once when the stream is gone, or now. */
  onceClosed(listener: () => void): void {
    if (this.closed) listener();
    else this.#closeListeners.push(listener);
  }

  /** The head of an answer, at the end that was asked. */
  respond(fields: readonly HeaderField[], { endStream = false } = {}): void {
    if (!this.writable) return;
    this.#host.sendHeaders(this, encodeHeaders(fields), endStream);
    if (!endStream) return;
    this.#ending = 'sent';
    this.#closeIfOver();
  }

  /** False if the writer is to wait for onDrain. What is written after the stream was ended is dropped. */
  write(...pieces: readonly Buffer[]): boolean {
    if (!this.writable) return false;
    for (const piece of pieces) this.#pending.push(piece);
    this.#host.wakeUp(this);
    // Once a writer was told to wait it is told when to go on, even if it wrote in between.
    if (this.#pending.bytes >= WRITE_AHEAD_BYTES) this.#mustDrain = true;
    return !this.#mustDrain;
  }

  /** Ends our direction once everything written is sent; with trailers, if there are any. */
  end(trailers: readonly HeaderField[] | null = null): void {
    if (!this.writable) return;
    this.#trailersOut = trailers && encodeHeaders(trailers);
    this.#ending = 'asked';
    this.#host.wakeUp(this);
  }

  /** Breaks the stream off: what was not sent is lost, and the peer is told. */
  cancel(code: number = CODE.cancel): void {
    if (this.closed) return;
    this.#host.reset(this.id, code);
    this.close(code);
  }

  /** The receiver is done with this many of the bytes it was given. */
  taken(bytes: number): void {
    if (this.#settled) return;
    const opened = this.window.taken(bytes);
    this.#host.credit(this, bytes, this.ended || this.closed ? 0 : opened);
  }

  // What follows is for the session.

  deliver(chunk: Buffer): void {
    if (this.#receiver) this.#receiver.onData(chunk);
    else (this.#unclaimed ??= new UnclaimedBytes()).push(chunk);
  }

  deliverResponse(head: ResponseHead): void {
    // An interim answer (RFC 9110, 15.2) is none.
    if (head.status < 200) return;
    this.#answered = true;
    this.#receiver?.onResponse?.(head);
  }

  deliverEnd(trailers: readonly HeaderField[]): void {
    if (this.ended || this.closed) return;
    this.#trailersIn = trailers;
    this.#tellEnd();
    this.#closeIfOver();
  }

  /** Is there anything that could be sent now, as far as the stream's own window goes? */
  get sendable(): boolean {
    if (this.closed || this.#ending === 'sent') return false;
    if (this.#pending.bytes > 0) return this.sendWindow > 0;
    return this.#ending === 'asked';
  }

  /** Moves `bytes` of what is pending to the end of `frames`. */
  unload(bytes: number, frames: Buffer[]): void {
    this.sendWindow -= bytes;
    this.#pending.moveTo(frames, bytes);
  }

  /** Everything is sent but the end, which is asked for: with trailers, if there are any. */
  get endIsDue(): boolean {
    return this.#ending === 'asked' && this.#pending.bytes === 0;
  }

  /** The header block of the trailers. */
  get trailers(): Buffer | null {
    return this.#trailersOut;
  }

  sentEnd(): void {
    this.#ending = 'sent';
  }

  /** What was sent is with the socket: the stream may be over, or a writer may wait for the room there is now. */
  afterTurn(): void {
    if (this.#ending === 'sent') this.#closeIfOver();
    if (!this.#mustDrain || this.#pending.bytes >= WRITE_AHEAD_BYTES / 2 || this.closed) return;
    this.#mustDrain = false;
    this.#receiver?.onDrain();
  }

  close(code: number | null): void {
    if (this.closed) return;
    this.#closedWith = code;
    this.#pending.clear();
    this.#settle(code);
    this.#host.forget(this);
    for (const listener of this.#closeListeners.splice(0)) listener();
    this.#tellEnd();
  }

  /**
   * What nobody took must not count against the connection for ever (`#settled`: it does not any more): of a stream that broke off, and of one that ended
   * in order and has nobody, who may never come. What the latter brought is kept for whoever does come; so is an answer
   * that was complete when the peer said that it wants no more of the request (RFC 9113, section 8.1).
   */
  #settle(code: number | null): void {
    const complete = this.ended && (code === null || code === CODE.noError);
    if (code === null && this.#receiver) return;
    if (!complete && this.#unclaimed?.isEmpty === false) {
      this.#unclaimed = null;
      this.#trailersIn = null;
    }
    this.#host.credit(this, this.window.heldBytes, 0);
    this.#settled = true;
  }

  #closeIfOver(): void {
    if (this.ended && this.#ending === 'sent') this.close(null);
  }

  #tellEnd(): void {
    const receiver = this.#receiver;
    if (!receiver || this.#unclaimed?.isEmpty === false) return;
    if (this.#trailersIn && !this.#endTold) {
      this.#endTold = true;
      receiver.onEnd(this.#trailersIn);
    }
    if (this.#closedWith !== undefined && this.#receiver === receiver) {
      const code = this.#closedWith;
      this.#receiver = null;
      receiver.onClose(code);
    }
  }
}

/**
 * Who takes what comes on a stream. Called in order; from within the stream's own methods only by attach(), and onClose
 * also by what ends a stream at once: cancel(), respond() with its end, and destroy() of the session.
 */
export interface StreamReceiver {
  /** Bytes came. Until `stream.taken()` was called for them they count against the peer's window. */
  onData(chunk: Buffer): void;
  /** The peer ended its direction in order. */
  onEnd(trailers: readonly HeaderField[]): void;
  /** There is room again after a write() that returned false. */
  onDrain(): void;
  /** The stream is gone. `code` is null if both directions ended in order, else of RFC 9113, section 7. */
  onClose(code: number | null): void;
  /** The head of the answer came; at the end that asked. */
  onResponse?(head: ResponseHead): void;
}

/** What a stream needs of its session. */
export interface StreamHost<Stream> {
  readonly role: 'client' | 'server';
  /** Something is to be sent. */
  wakeUp(stream: Stream): void;
  sendHeaders(stream: Stream, block: Buffer, endStream: boolean): void;
  reset(streamId: number, code: number): void;
  /** The application took bytes of the stream; the last number is by how much its window opens. */
  credit(stream: Stream, bytes: number, opened: number): void;
  forget(stream: Stream): void;
}
