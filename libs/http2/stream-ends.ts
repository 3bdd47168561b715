import type { ResponseHead } from './header-rules.js';
import type { HeaderField } from './hpack/index.js';

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
