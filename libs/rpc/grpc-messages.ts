import { FairleadError } from '@fairlead/errors';

const PREFIX_BYTES = 5;

/** One message as gRPC frames it: a flag, its length, its bytes. */
export function encodeGrpcMessage(body: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(PREFIX_BYTES + body.length);
  message[0] = 0;
  message.writeUInt32BE(body.length, 1);
  message.set(body, PREFIX_BYTES);
  return message;
}

/** Takes a stream of small gRPC messages apart. Throws PROTOCOL_ERROR for a compressed one and for one that is too large. */
export class GrpcMessageReader {
  readonly #maxBytes: number;
  #rest: Buffer = Buffer.alloc(0);

  /** Of each message; larger ones are refused before they are held. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The messages that this chunk completes. */
  push(chunk: Buffer): Buffer[] {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: Buffer[] = [];
    for (let end = this.#endOfFirst(bytes); end <= bytes.length; end = this.#endOfFirst(bytes)) {
      messages.push(bytes.subarray(PREFIX_BYTES, end));
      bytes = bytes.subarray(end);
    }
    // A view would keep alive all that came with it.
    this.#rest = Buffer.from(bytes);
    return messages;
  }

  #endOfFirst(bytes: Buffer): number {
    if (bytes.length < PREFIX_BYTES) return Number.POSITIVE_INFINITY;
    if (bytes[0] !== 0) throw new FairleadError('PROTOCOL_ERROR', 'the peer sent a compressed message');
    const length = bytes.readUInt32BE(1);
    if (length > this.#maxBytes) {
      throw new FairleadError('PROTOCOL_ERROR', `the peer sent a message of ${length} bytes`);
    }
    return PREFIX_BYTES + length;
  }
}
