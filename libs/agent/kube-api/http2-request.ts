import { Readable, Writable } from 'node:stream';
import { HTTP2_CODE, type Http2Stream, type ResponseHead, type StreamReceiver } from '@fairlead/http2';

export interface Http2RequestOptions {
  /** Begins the stream, and says whether there were others on its connection before. What is received of it is attached in the same turn. */
  readonly begin: () => Promise<{ readonly stream: Http2Stream; readonly used: boolean }>;
  readonly hasBody: boolean;
  /** An answer to it has no body, whatever its length says: HEAD. */
  readonly answerHasNoBody: boolean;
}

/** Answers that have no body, whatever their length says (RFC 9110, section 6.4.1). */
const BODYLESS = new Set([204, 304]);

/**
 * A request over HTTP/2 with the face of Node's request over HTTP/1.1, as far as a hop needs it: what is written is its body, `response` brings the
 * answer, `close` says that nothing more will come, and destroying it tells the server that nobody waits any more.
 */
export class Http2Request extends Writable implements StreamReceiver {
  readonly #options: Http2RequestOptions;
  #stream: Http2Stream | undefined;
  #answer: Http2Answer | undefined;
  #drained: (() => void) | undefined;
  #used = false;
  #refused = false;

  constructor(options: Http2RequestOptions) {
    // It is over when its answer is, not when it is sent.
    super({ autoDestroy: false });
    this.#options = options;
  }

  /** It went on a connection that others had used before, which may have died meanwhile. */
  get reusedSocket(): boolean {
    return this.#used;
  }

  /** The server says that it did nothing of it (RFC 9113, section 8.7). */
  get wasRefused(): boolean {
    return this.#refused;
  }

  /** The head has left by itself. */
  flushHeaders(): void {}

  override _construct(callback: (error?: Error | null) => void): void {
    void this.#begin(callback);
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.#stream?.write(piece)) callback();
    else if (this.#stream?.closed === false) this.#drained = callback;
    else callback(new Error('the stream is over'));
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#options.hasBody) this.#stream?.end();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#stream?.cancel();
    this.#drained = undefined;
    callback(error);
  }

  onResponse(head: ResponseHead): void {
    const { answerHasNoBody } = this.#options;
    const taken = (bytes: number): void => this.#stream?.taken(bytes);
    this.#answer = new Http2Answer(head, answerHasNoBody || BODYLESS.has(head.status), taken);
    this.emit('response', this.#answer);
  }

  onData(piece: Buffer): void {
    const error = this.#answer?.bring(piece);
    if (error) this.destroy(error);
  }

  onEnd(): void {
    const error = this.#answer?.end();
    if (error) this.destroy(error);
  }

  onDrain(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.();
  }

  onClose(code: number | null): void {
    const isWhole = this.#answer?.complete === true;
    this.#refused = code === HTTP2_CODE.refusedStream;
    if (!isWhole) this.#answer?.breakOff(new Error(`the stream was reset (${code})`));
    this.destroy(isWhole || code === null ? undefined : new Error(`the stream was reset (${code})`));
  }

  async #begin(callback: (error?: Error | null) => void): Promise<void> {
    try {
      const { stream, used } = await this.#options.begin();
      this.#used = used;
      this.#stream = stream;
      // Whoever destroyed it meanwhile has it cancelled now.
      stream.attach(this);
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback();
  }
}

/** An answer over HTTP/2, with the face of one over HTTP/1.1. */
class Http2Answer extends Readable {
  readonly statusCode: number;
  readonly rawHeaders: string[];
  /** All of it came. */
  complete = false;
  readonly #taken: (bytes: number) => void;
  /** What its Content-Length says there is to come; null if it says nothing, or if there is no body all the same. */
  #missing: number | null;
  /** Given to the reader, and not asked for more since. */
  #held = 0;

  constructor({ status, fields }: ResponseHead, isBodyless: boolean, taken: (bytes: number) => void) {
    super();
    this.statusCode = status;
    this.rawHeaders = fields.flatMap(([name, value]) => [name, value]);
    const length = fields.find(([name]) => name === 'content-length')?.[1];
    this.#missing = length === undefined || isBodyless ? null : Number(length);
    this.#taken = taken;
  }

  /** An error if it is longer than it said: over HTTP/1.1 the rest would be read as another answer. */
  bring(piece: Buffer): Error | undefined {
    if (this.#missing !== null) {
      if (piece.length > this.#missing) return this.#ofOtherLength();
      this.#missing -= piece.length;
    }
    this.#held += piece.length;
    if (this.push(piece)) this.#release();
    return undefined;
  }

  /** An error if it is shorter than it said. */
  end(): Error | undefined {
    if (this.destroyed || (this.#missing !== null && this.#missing > 0)) return this.#ofOtherLength();
    this.complete = true;
    this.push(null);
    return undefined;
  }

  #ofOtherLength(): Error {
    const error = new Error('the answer has another length than its Content-Length');
    this.breakOff(error);
    return error;
  }

  /** Not before whoever got the answer in this turn has had the time to listen. */
  breakOff(error: Error): void {
    setImmediate(() => this.destroy(error));
  }

  override _read(): void {
    this.#release();
  }

  /** Once it has ended it is not asked for more: what was held then would count against the whole connection for ever. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#release();
    callback(error);
  }

  #release(): void {
    const held = this.#held;
    this.#held = 0;
    if (held > 0) this.#taken(held);
  }
}
