import { fromBinary } from '@bufbuild/protobuf';
import { FairleadError, assertNever } from '@fairlead/errors';
import { FrameSchema, type Frame } from '@fairlead/proto';
import { DATA_TAG, type ControlKind } from './frame-encoder.js';
import { LIMITS } from './limits.js';
import { withRoomFor } from './message-buffer.js';

export interface FrameSink {
  /** A piece of the payload: a view into the chunk that was pushed, in order, never empty. */
  onData(piece: Buffer): void;
  onControl(kind: ControlKind): void;
}

const GRPC_PREFIX_BYTES = 5;
const MAX_VARINT_BYTES = 5;
/** No end of ours sends any; each costs as much as one with something in it, and no window bounds them. */
const MAX_EMPTY_DATA = 100;

/** Where in a message the decoder stands. */
type Position =
  | { at: 'prefix'; held: Buffer }
  | { at: 'kind'; messageBytes: number }
  | { at: 'data-length'; messageBytes: number; value: number; shift: number; read: number }
  | { at: 'data'; remaining: number }
  | { at: 'control'; messageBytes: number; held: Buffer; heldBytes: number };

const NOTHING = Buffer.alloc(0);
const START: Position = { at: 'prefix', held: NOTHING };

/**
 * Takes a gRPC message stream of Frames apart as its bytes come. Payload is passed on at once, whatever the frame's
 * size; only control frames are held until complete, and those are bounded by LIMITS.controlFrameBytes.
 * Throws PROTOCOL_ERROR on anything PROTOCOL.md does not allow; it must not be used after that.
 */
export class FrameDecoder {
  #position: Position = START;
  #emptyData = 0;

  /** Is it between two messages? A stream that ends elsewhere was cut off. */
  get atBoundary(): boolean {
    return this.#position.at === 'prefix' && this.#position.held.length === 0;
  }

  push(chunk: Buffer, sink: FrameSink): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#advance(rest, sink);
  }

  #advance(chunk: Buffer, sink: FrameSink): Buffer {
    const position = this.#position;
    switch (position.at) {
      case 'prefix':
        return this.#readPrefix(chunk, position.held);
      case 'kind':
        return this.#readKind(chunk, position.messageBytes);
      case 'data-length':
        return this.#readDataLength(chunk, position);
      case 'data':
        return this.#readData(chunk, position, sink);
      case 'control':
        return this.#readControl(chunk, position, sink);
      default:
        return assertNever(position);
    }
  }

  #readPrefix(chunk: Buffer, held: Buffer): Buffer {
    const missing = GRPC_PREFIX_BYTES - held.length;
    if (chunk.length < missing) {
      this.#position = { at: 'prefix', held: Buffer.concat([held, chunk]) };
      return NOTHING;
    }
    const prefix = held.length === 0 ? chunk : Buffer.concat([held, chunk.subarray(0, missing)]);
    if (prefix[0] !== 0) throw broken('a compressed message');
    const messageBytes = prefix.readUInt32BE(1);
    if (messageBytes === 0) throw broken('a frame without a kind');
    this.#position = { at: 'kind', messageBytes };
    return chunk.subarray(missing);
  }

  #readKind(chunk: Buffer, messageBytes: number): Buffer {
    if (chunk[0] === DATA_TAG) {
      this.#position = { at: 'data-length', messageBytes, value: 0, shift: 0, read: 1 };
      return chunk.subarray(1);
    }
    if (messageBytes > LIMITS.controlFrameBytes) throw broken(`a control frame of ${messageBytes} bytes`);
    this.#position = { at: 'control', messageBytes, held: NOTHING, heldBytes: 0 };
    return chunk;
  }

  #readDataLength(chunk: Buffer, position: Extract<Position, { at: 'data-length' }>): Buffer {
    const byte = chunk[0] ?? 0;
    const value = position.value + (byte & 0x7f) * 2 ** position.shift;
    const read = position.read + 1;
    if (byte & 0x80) {
      if (read > MAX_VARINT_BYTES) throw broken('a data length of more than 32 bits');
      this.#position = { ...position, value, shift: position.shift + 7, read };
      return chunk.subarray(1);
    }
    if (read + value !== position.messageBytes) throw broken('a data frame with something beside its data');
    if (value === 0) this.#emptyData += 1;
    if (this.#emptyData > MAX_EMPTY_DATA) throw broken('data frame after data frame without data');
    this.#position = value === 0 ? START : { at: 'data', remaining: value };
    return chunk.subarray(1);
  }

  #readData(chunk: Buffer, position: Extract<Position, { at: 'data' }>, sink: FrameSink): Buffer {
    const piece = chunk.length > position.remaining ? chunk.subarray(0, position.remaining) : chunk;
    const remaining = position.remaining - piece.length;
    this.#position = remaining === 0 ? START : { at: 'data', remaining };
    sink.onData(piece);
    return chunk.subarray(piece.length);
  }

  #readControl(chunk: Buffer, position: Extract<Position, { at: 'control' }>, sink: FrameSink): Buffer {
    const { messageBytes, heldBytes } = position;
    const piece = chunk.subarray(0, messageBytes - heldBytes);
    const nowBytes = heldBytes + piece.length;
    if (nowBytes < messageBytes) {
      // A view, or a Buffer for each piece, would cost a multiple of what came.
      position.held = withRoomFor(position.held, nowBytes, messageBytes);
      piece.copy(position.held, heldBytes);
      position.heldBytes = nowBytes;
      return NOTHING;
    }
    this.#position = START;
    sink.onControl(parseControl(Buffer.concat([position.held.subarray(0, heldBytes), piece])));
    return chunk.subarray(piece.length);
  }
}

function parseControl(whole: Buffer): ControlKind {
  const kind = parseFrame(whole).kind;
  if (kind.case === undefined) throw broken('a frame of an unknown kind');
  if (kind.case === 'data') throw broken('a data frame with something before its data');
  return kind;
}

function parseFrame(bytes: Buffer): Frame {
  try {
    return fromBinary(FrameSchema, bytes);
  } catch (error) {
    throw broken('a frame that is not protobuf', error);
  }
}

function broken(what: string, cause?: unknown): FairleadError {
  return new FairleadError('PROTOCOL_ERROR', `the peer sent ${what}`, { cause });
}
