import type { Http2Stream } from '@fairlead/http2';
import { abandonStream, endStream } from './grpc-stream.js';

/** Bytes that went each way, as they were on the wire between the two streams. */
export interface SplicedBytes {
  forward: number;
  backward: number;
}

/**
 * Joins two tunnel streams byte for byte, unparsed, with the flow control of each acting on the other: at most one
 * HTTP/2 window per direction is held here. Both streams carry whole Frames, so what one end ends, the other end sees.
 * A stream that breaks off takes the other with it: a frame could have been cut in the middle, so nothing can be said
 * in band any more. Resolves when both are gone. `counts` is counted up while it runs.
 */
export async function splice(
  a: Http2Stream,
  b: Http2Stream,
  counts: SplicedBytes = { forward: 0, backward: 0 },
): Promise<SplicedBytes> {
  const forward = new Direction(a, b, (bytes) => (counts.forward += bytes));
  const backward = new Direction(b, a, (bytes) => (counts.backward += bytes));
  await Promise.all([follow(a, b, forward, backward), follow(b, a, backward, forward)]);
  return counts;
}

/** What goes from one stream to the other. */
class Direction {
  readonly #from: Http2Stream;
  readonly #to: Http2Stream;
  readonly #count: (bytes: number) => void;
  /** Passed on to a stream that has no room: the peer gets its window back when there is. */
  #waitingBytes = 0;

  constructor(from: Http2Stream, to: Http2Stream, count: (bytes: number) => void) {
    this.#from = from;
    this.#to = to;
    this.#count = count;
  }

  pass(chunk: Buffer): void {
    this.#count(chunk.length);
    if (this.#to.write(chunk)) this.#from.taken(chunk.length);
    else this.#waitingBytes += chunk.length;
  }

  drained(): void {
    const bytes = this.#waitingBytes;
    this.#waitingBytes = 0;
    this.#from.taken(bytes);
  }
}

/** Resolves when the stream is gone. */
function follow(stream: Http2Stream, other: Http2Stream, outward: Direction, inward: Direction): Promise<void> {
  return new Promise((resolve) =>
    stream.attach({
      onData: (chunk) => outward.pass(chunk),
      onDrain: () => inward.drained(),
      onEnd: () => endStream(other),
      onClose: () => {
        if (!stream.ended) other.cancel();
        // It ended its direction and is gone: what the other still says has nowhere to go, and nobody would read it.
        else if (!other.ended) {
          inward.drained();
          abandonStream(other);
        }
        resolve();
      },
    }),
  );
}
