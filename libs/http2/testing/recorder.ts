import type { ResponseHead } from '../header-rules.js';
import type { HeaderField } from '../hpack/index.js';
import type { StreamReceiver, Http2Stream } from '../stream.js';

/** Takes all that comes on a stream and keeps it. With `taking` false it gives the peer no room back. */
export class Recorder implements StreamReceiver {
  readonly chunks: Buffer[] = [];
  /** What was told, in its order; data by its text. */
  readonly told: string[] = [];
  head: ResponseHead | null = null;
  trailers: readonly HeaderField[] | null = null;
  bytes = 0;
  taking: boolean;
  readonly #stream: Http2Stream;
  readonly #ended = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<number | null>();
  #drained: (() => void) | null = null;

  constructor(stream: Http2Stream, { taking = true } = {}) {
    this.#stream = stream;
    this.taking = taking;
    stream.attach(this);
  }

  get body(): Buffer {
    return Buffer.concat(this.chunks);
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get closed(): Promise<number | null> {
    return this.#closed.promise;
  }

  /** Gives back all the room that was held back. */
  takeAll(): void {
    this.taking = true;
    this.#stream.taken(this.bytes);
  }

  /** Writes all of it, piece by piece, waiting whenever the stream says so. */
  async writeAll(body: Buffer, pieceBytes: () => number): Promise<void> {
    for (let at = 0; at < body.length;) {
      const piece = body.subarray(at, at + pieceBytes());
      at += piece.length;
      if (this.#stream.write(piece)) continue;
      await Promise.race([new Promise<void>((resolve) => (this.#drained = resolve)), this.closed]);
      if (this.#stream.closed) return;
    }
  }

  onResponse(head: ResponseHead): void {
    this.head = head;
    this.told.push(`head ${head.status}`);
  }

  onData(chunk: Buffer): void {
    // The socket may use the memory again for nobody else, but a view would show what a test changes later.
    this.chunks.push(Buffer.from(chunk));
    this.bytes += chunk.length;
    this.told.push(chunk.length < 32 ? chunk.toString() : `${chunk.length} bytes`);
    if (this.taking) this.#stream.taken(chunk.length);
  }

  onEnd(trailers: readonly HeaderField[]): void {
    this.trailers = trailers;
    this.told.push('end');
    this.#ended.resolve();
  }

  onDrain(): void {
    const drained = this.#drained;
    this.#drained = null;
    drained?.();
  }

  onClose(code: number | null): void {
    this.told.push(`close ${code}`);
    this.#closed.resolve(code);
  }
}
