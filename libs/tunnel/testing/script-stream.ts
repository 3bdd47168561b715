import { Duplex } from 'node:stream';
import type { Http2Stream, ResponseHead } from '@fairlead/http2';

type Done = (error?: Error | null) => void;

/** A stream of ours as a test wants to hold it: what is written goes out as it is, what comes is read as from any Duplex. */
export class ScriptStream extends Duplex {
  /** The code of the reset that ended it; 0 for an end in order. */
  rstCode = 0;
  readonly #stream: Http2Stream;
  #waiting: Done | null = null;

  constructor(stream: Http2Stream) {
    super({ allowHalfOpen: true, autoDestroy: false });
    this.#stream = stream;
    stream.attach({
      onResponse: ({ fields }: ResponseHead) => void this.emit('response', Object.fromEntries(fields)),
      onData: (chunk) => {
        stream.taken(chunk.length);
        this.push(chunk);
      },
      onEnd: (trailers) => {
        if (trailers.length > 0) this.emit('trailers', Object.fromEntries(trailers));
        this.push(null);
      },
      onDrain: () => this.#drained(),
      onClose: (code) => {
        this.rstCode = code ?? 0;
        this.#drained();
        this.destroy();
      },
    });
  }

  /** RST_STREAM. */
  close(code: number): void {
    this.#stream.cancel(code);
  }

  override _read(): void {
    // Everything that comes is pushed at once.
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    if (this.#stream.write(chunk) || !this.#stream.writable) done();
    else this.#waiting = done;
  }

  override _final(done: Done): void {
    this.#stream.end();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#stream.cancel();
    done(error);
  }

  #drained(): void {
    const done = this.#waiting;
    this.#waiting = null;
    done?.();
  }
}
