import { FairleadError } from '@fairlead/errors';
import { withRoomFor } from '@fairlead/tunnel/core';

const PREFIX_BYTES = 5;
const NOTHING = Buffer.alloc(0);

/** One message as gRPC frames it: a flag, its length, its bytes. */
export function encodeGrpcMessage(body: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(PREFIX_BYTES + body.length);
  message[0] = 0;
  message.writeUInt32BE(body.length, 1);
  message.set(body, PREFIX_BYTES);
  return message;
}

/**
 * Takes a stream of small gRPC messages apart. Throws PROTOCOL_ERROR for a compressed one and for one that is too large. However small the
 * pieces are that a message comes in, each byte of it is copied a few times at most: untrusted peers choose the pieces.
 */
export class GrpcMessageReader {
  /** Of each message whose length is read from now on; larger ones are refused before they are held. */
  maxBytes: number;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixBytes = 0;
  /** Of the body that began, with room for more than came of it. */
  #held: Buffer = NOTHING;
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Is it between two messages? A stream that ends elsewhere was cut off. */
  get atBoundary(): boolean {
    return this.#prefixBytes === 0;
  }

  /** The messages that this chunk completes: views into it where it holds them whole. */
  push(chunk: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#prefixBytes < PREFIX_BYTES) rest = this.#readPrefix(rest);
      // An empty message is complete with its prefix.
      if (this.#prefixBytes === PREFIX_BYTES) rest = this.#readBody(rest, messages);
    }
    return messages;
  }

  #readPrefix(chunk: Buffer): Buffer {
    const copied = chunk.copy(this.#prefix, this.#prefixBytes);
    this.#prefixBytes += copied;
    if (this.#prefixBytes < PREFIX_BYTES) return NOTHING;
    if (this.#prefix[0] !== 0) throw new FairleadError('PROTOCOL_ERROR', 'the peer sent a compressed message');
    const length = this.#length;
    if (length > this.maxBytes) {
      throw new FairleadError('PROTOCOL_ERROR', `the peer sent a message of ${length} bytes`);
    }
    return chunk.subarray(copied);
  }

  #readBody(chunk: Buffer, messages: Buffer[]): Buffer {
    const length = this.#length;
    const piece = chunk.subarray(0, length - this.#heldBytes);
    if (piece.length === length) {
      this.#complete(messages, piece);
      return chunk.subarray(length);
    }
    const nowBytes = this.#heldBytes + piece.length;
    // A view of the piece would keep alive all that came with it.
    this.#held = withRoomFor(this.#held, nowBytes, length);
    piece.copy(this.#held, this.#heldBytes);
    this.#heldBytes = nowBytes;
    if (nowBytes === length) this.#complete(messages, this.#held.subarray(0, length));
    return chunk.subarray(piece.length);
  }

  #complete(messages: Buffer[], body: Buffer): void {
    messages.push(body);
    this.#prefixBytes = 0;
    this.#held = NOTHING;
    this.#heldBytes = 0;
  }

  get #length(): number {
    return this.#prefix.readUInt32BE(1);
  }
}
