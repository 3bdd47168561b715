import type { HeaderField, Http2Stream, ResponseHead, StreamReceiver } from '@fairlead/http2';
import { FairleadError } from '@fairlead/errors';

/** The stream of one ordinary gRPC call, as ConnectRPC wants it: bodies are iterables, heads are Headers. */
export class RpcChannel implements StreamReceiver {
  readonly response: Promise<ResponseHead>;
  /** Of the peer's direction; complete once its body has ended. */
  readonly trailers = new Headers();
  readonly #stream: Http2Stream;
  readonly #answer = Promise.withResolvers<ResponseHead>();
  readonly #came: Buffer[] = [];
  #ended = false;
  #lost = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  constructor(stream: Http2Stream) {
    this.#stream = stream;
    this.response = this.#answer.promise;
    // Only the asking end waits for it.
    this.response.catch(() => undefined);
    stream.attach(this);
  }

  /** What the peer says, until it ends. UNAVAILABLE if the stream breaks off before. */
  async *body(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#came.shift();
      if (chunk) {
        this.#stream.taken(chunk.length);
        yield chunk;
      } else if (this.#ended) {
        return;
      } else if (this.#lost) {
        throw gone();
      } else {
        await new Promise<void>((resolve) => (this.#wakeReader = resolve));
      }
    }
  }

  /** Sends all of a body, no faster than it is taken. UNAVAILABLE if the stream breaks off. */
  async send(body: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of body) {
      if (this.#lost) throw gone();
      if (this.#stream.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) continue;
      await new Promise<void>((resolve) => {
        if (this.#stream.closed) resolve();
        else this.#wakeWriter = resolve;
      });
    }
  }

  onResponse(head: ResponseHead): void {
    this.#answer.resolve(head);
  }

  onData(chunk: Buffer): void {
    this.#came.push(chunk);
    this.#wakeReader?.();
  }

  onEnd(trailers: readonly HeaderField[]): void {
    for (const [name, value] of trailers) this.trailers.append(name, value);
    this.#ended = true;
    this.#wakeReader?.();
  }

  onDrain(): void {
    this.#wakeWriter?.();
    this.#wakeWriter = null;
  }

  onClose(): void {
    this.#lost = true;
    this.#answer.reject(gone());
    this.#wakeReader?.();
    this.onDrain();
  }
}

export function toHeaders(fields: readonly HeaderField[]): Headers {
  const headers = new Headers();
  for (const [name, value] of fields) headers.append(name, value);
  return headers;
}

export function fromHeaders(headers: Headers | undefined): HeaderField[] {
  return [...(headers ?? [])];
}

function gone(): FairleadError {
  return new FairleadError('UNAVAILABLE', 'the call broke off: the connection or the peer is gone');
}
