import type { HeaderField } from './hpack/index.js';
import type { ResponseHead } from './header-rules.js';
import { ReceiveWindow } from './windows.js';
import { CODE } from './wire/constants.js';

/** Who takes what comes on a stream. Called in order, never from within a call of the stream's own methods but attach(). */
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
export interface StreamHost {
  readonly role: 'client' | 'server';
  readonly streamWindowBytes: number;
  /** Something is to be sent. */
  wakeUp(stream: Http2Stream): void;
  sendHeaders(stream: Http2Stream, fields: readonly HeaderField[], endStream: boolean): void;
  reset(stream: Http2Stream, code: number): void;
  /** The application took bytes of the stream; the second number is by how much its window opens. */
  credit(stream: Http2Stream, bytes: number, opened: number): void;
  forget(stream: Http2Stream): void;
}

/** A stream asks its writer to wait from here on; what one write() brings is taken all the same. */
const WRITE_AHEAD_BYTES = 128 * 1024;

/**
 * One stream of a session: bytes both ways, each direction ended by its own end, or everything broken off by a reset.
 * Nothing is read ahead beyond the stream's window, and nothing written ahead beyond what the writer was told to stop at.
 */
export class Http2Stream {
  readonly id: number;
  readonly #host: StreamHost;
  readonly #window: ReceiveWindow;
  #receiver: StreamReceiver | null = null;
  /** Came while nobody was attached. */
  #unclaimed: Buffer[] = [];
  #trailersIn: readonly HeaderField[] | null = null;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #ending: 'no' | 'asked' | 'sent' = 'no';
  #trailersOut: readonly HeaderField[] | null = null;
  #mustDrain = false;
  #closedWith: number | null | undefined;
  #endTold = false;
  #answered = false;
  /** What came and was not taken does not count any more. */
  #settled = false;
  #closeListeners: (() => void)[] = [];
  /** What the peer lets us send. */
  sendWindow: number;
  /** Is in the session's list of those that have something to send. */
  queued = false;

  constructor(id: number, host: StreamHost, initialWindowBytes: number, sendWindow: number) {
    this.id = id;
    this.#host = host;
    this.#window = new ReceiveWindow(initialWindowBytes);
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

  /** The head of the answer came. */
  get answered(): boolean {
    return this.#answered;
  }

  /** We did not end ours. */
  get writable(): boolean {
    return this.#ending === 'no' && !this.closed;
  }

  /** Bytes that wait to be sent, and bytes that came and were not taken. */
  get heldBytes(): number {
    return this.#pendingBytes + this.#window.heldBytes;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Hands everything that came, and that will come, to a receiver; the one before is told nothing any more. */
  attach(receiver: StreamReceiver): void {
    this.#receiver = receiver;
    const came = this.#unclaimed;
    this.#unclaimed = [];
    for (const chunk of came) {
      if (this.#receiver === receiver) receiver.onData(chunk);
      else this.#unclaimed.push(chunk);
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
    this.#host.sendHeaders(this, fields, endStream);
    if (endStream) this.sentEnd();
  }

  /** False if the writer is to wait for onDrain. What is written after the stream was ended is dropped. */
  write(...pieces: readonly Buffer[]): boolean {
    if (!this.writable) return false;
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#pending.push(piece);
      this.#pendingBytes += piece.length;
    }
    this.#host.wakeUp(this);
    // Once a writer was told to wait it is told when to go on, even if it wrote in between.
    if (this.#pendingBytes >= WRITE_AHEAD_BYTES) this.#mustDrain = true;
    return !this.#mustDrain;
  }

  /** Ends our direction once everything written is sent; with trailers, if there are any. */
  end(trailers: readonly HeaderField[] | null = null): void {
    if (!this.writable) return;
    this.#ending = 'asked';
    this.#trailersOut = trailers;
    this.#host.wakeUp(this);
  }

  /** Breaks the stream off: what was not sent is lost, and the peer is told. */
  cancel(code: number = CODE.cancel): void {
    if (this.closed) return;
    this.#host.reset(this, code);
    this.close(code);
  }

  /** The receiver is done with this many of the bytes it was given. */
  taken(bytes: number): void {
    if (this.#settled) return;
    const opened = this.#window.taken(bytes);
    this.#host.credit(this, bytes, this.ended || this.closed ? 0 : opened);
  }

  // What follows is for the session.

  /** The window is to be this large from now on. Returns by how much it opens at once. */
  resizeWindow(bytes: number): number {
    return this.#window.resize(bytes);
  }

  /** False if the peer sent more than its window. */
  received(bytes: number): boolean {
    return this.#window.received(bytes);
  }

  deliver(chunk: Buffer): void {
    if (this.#receiver) this.#receiver.onData(chunk);
    else this.#unclaimed.push(chunk);
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
    if (this.#pendingBytes > 0) return this.sendWindow > 0;
    return this.#ending === 'asked';
  }

  /** Takes `bytes` of what is pending, piece by piece. */
  unload(bytes: number, give: (piece: Buffer) => void): void {
    let left = bytes;
    this.#pendingBytes -= bytes;
    this.sendWindow -= bytes;
    let used = 0;
    while (left > 0) {
      const piece = this.#pending[used] as Buffer;
      if (piece.length > left) {
        give(piece.subarray(0, left));
        this.#pending[used] = piece.subarray(left);
        left = 0;
      } else {
        give(piece);
        left -= piece.length;
        used += 1;
      }
    }
    if (used > 0) this.#pending.splice(0, used);
  }

  /** Everything is sent but the end, which is asked for: with these trailers, or with none. */
  get dueEnd(): { readonly trailers: readonly HeaderField[] | null } | null {
    return this.#ending === 'asked' && this.#pendingBytes === 0 ? { trailers: this.#trailersOut } : null;
  }

  sentEnd(): void {
    this.#ending = 'sent';
    this.#closeIfOver();
  }

  /** Tells the writer that there is room, if it waits for that. */
  tellDrained(): void {
    if (!this.#mustDrain || this.#pendingBytes >= WRITE_AHEAD_BYTES / 2 || this.closed) return;
    this.#mustDrain = false;
    this.#receiver?.onDrain();
  }

  close(code: number | null): void {
    if (this.closed) return;
    this.#closedWith = code;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (code !== null) this.#settle();
    this.#host.forget(this);
    for (const listener of this.#closeListeners.splice(0)) listener();
    this.#tellEnd();
  }

  /** Broken off: what nobody took yet goes to nobody, and must not count against the connection for ever. */
  #settle(): void {
    this.#unclaimed = [];
    this.#host.credit(this, this.#window.heldBytes, 0);
    this.#settled = true;
  }

  #closeIfOver(): void {
    if (this.ended && this.#ending === 'sent') this.close(null);
  }

  #tellEnd(): void {
    const receiver = this.#receiver;
    if (!receiver || this.#unclaimed.length > 0) return;
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
