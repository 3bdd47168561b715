import {
  HTTP2_CODE,
  type HeaderField,
  type Http2Stream,
  type ResponseHead,
  type StreamReceiver,
} from '@fairlead/http2';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { toConnectError } from '@fairlead/tunnel/link';
import { GrpcMessageReader, encodeGrpcMessage } from './grpc-messages.js';

/** The stream of one ordinary gRPC call, as ConnectRPC wants it: bodies are iterables, heads are Headers. */
export class RpcChannel implements StreamReceiver {
  readonly response: Promise<ResponseHead>;
  /** Of the peer's direction; complete once its body has ended. */
  readonly trailers = new Headers();
  readonly #stream: Http2Stream;
  readonly #answer = Promise.withResolvers<ResponseHead>();
  readonly #reader: GrpcMessageReader;
  readonly #mayHold: (bytes: number) => boolean;
  /** Whole messages: ConnectRPC copies what it holds of one for each piece that it is handed. */
  #came: Buffer[] = [];
  /** Bytes of messages that nobody has read; a message that began only is bounded by its reader and by `mayHold`. */
  #untakenBytes = 0;
  #failure: FairleadError | null = null;
  #ended = false;
  #lost = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  /**
   * `maxBytes`: of each message that comes; a larger one is PROTOCOL_ERROR to who reads the body. `mayHold` is asked before more is held;
   * where it says no, the stream is reset.
   */
  constructor(stream: Http2Stream, maxBytes: number, mayHold: (bytes: number) => boolean = () => true) {
    this.#stream = stream;
    this.#mayHold = mayHold;
    this.#reader = new GrpcMessageReader(maxBytes);
    this.response = this.#answer.promise;
    // Only the asking end waits for it.
    this.response.catch(() => undefined);
    stream.attach(this);
  }

  /** What the peer says, message by message as gRPC frames them, until it ends. UNAVAILABLE if the stream breaks off before. */
  async *body(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const messages = this.#came;
      this.#came = [];
      for (const message of messages) yield encodeGrpcMessage(message);
      if (messages.length > 0) {
        if (this.#came.length === 0) this.#takeAll();
      } else if (this.#failure) {
        throw toConnectError(this.#failure);
      } else if (this.#ended) {
        if (!this.#reader.atBoundary) throw toConnectError(cutOff());
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
    // What follows is not wanted, and the window stays as it is.
    if (this.#failure) return;
    if (!this.#mayHold(chunk.length)) {
      this.#stream.cancel(HTTP2_CODE.enhanceYourCalm);
      return;
    }
    this.#untakenBytes += chunk.length;
    try {
      this.#came.push(...this.#reader.push(chunk));
    } catch (error) {
      this.#failure = toFairleadError(error);
    }
    if (this.#came.length === 0 && !this.#failure) this.#takeAll();
    else this.#wakeReader?.();
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

  #takeAll(): void {
    const bytes = this.#untakenBytes;
    this.#untakenBytes = 0;
    this.#stream.taken(bytes);
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

function cutOff(): FairleadError {
  return new FairleadError('PROTOCOL_ERROR', 'the peer ended the call within a message');
}
