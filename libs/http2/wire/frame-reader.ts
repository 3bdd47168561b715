import { SessionError } from '../errors.js';
import { CODE, DEFAULT_MAX_FRAME_BYTES, FLAG, FRAME, FRAME_HEADER_BYTES, PREFACE } from './constants.js';

/** Who is told what a peer sent, in order. */
export interface FrameSink {
  /** A DATA frame begins; `length` counts for flow control, `padding` of it carry nothing. */
  onDataBegin(streamId: number, length: number, padding: number): void;
  /** A piece of it: a view into what was read, never empty. */
  onDataPiece(piece: Buffer): void;
  onDataEnd(endStream: boolean): void;
  /** Any other frame, whole. */
  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const NOTHING = Buffer.alloc(0);
/** Largest stream number; the highest bit is reserved. */
const STREAM_MASK = 0x7fff_ffff;

/**
 * Takes what a peer sends apart into frames. DATA goes on at once, piece by piece; other frames are held until complete,
 * and none of them may be larger than 16 KiB. Throws SessionError; it must not be used after that.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #maxDataBytes: number;
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES);
  #headerBytes = 0;
  #prefaceLeft: number;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Bytes of the current frame that have not come yet. */
  #left = 0;
  #paddingLeft = 0;
  #wantsPadLength = false;
  /** Of a frame that came in part: room for all of it. */
  #held: Buffer | null = null;
  #inFrame = false;

  /** `maxDataBytes` is the SETTINGS_MAX_FRAME_SIZE we gave; a server's reader also expects the client's preface. */
  constructor(sink: FrameSink, maxDataBytes: number, expectsPreface: boolean) {
    this.#sink = sink;
    this.#maxDataBytes = maxDataBytes;
    this.#prefaceLeft = expectsPreface ? PREFACE.length : 0;
  }

  push(chunk: Buffer): void {
    let at = this.#prefaceLeft > 0 ? this.#readPreface(chunk) : 0;
    while (at < chunk.length) at = this.#inFrame ? this.#readPayload(chunk, at) : this.#readHeader(chunk, at);
  }

  #readPreface(chunk: Buffer): number {
    const length = Math.min(this.#prefaceLeft, chunk.length);
    const from = PREFACE.length - this.#prefaceLeft;
    if (chunk.compare(PREFACE, from, from + length, 0, length) !== 0) {
      throw new SessionError(CODE.protocolError, 'the peer does not speak HTTP/2');
    }
    this.#prefaceLeft -= length;
    return length;
  }

  #readHeader(chunk: Buffer, at: number): number {
    const length = Math.min(FRAME_HEADER_BYTES - this.#headerBytes, chunk.length - at);
    chunk.copy(this.#header, this.#headerBytes, at, at + length);
    this.#headerBytes += length;
    if (this.#headerBytes === FRAME_HEADER_BYTES) this.#begin();
    return at + length;
  }

  #begin(): void {
    const header = this.#header;
    this.#headerBytes = 0;
    this.#left = header.readUIntBE(0, 3);
    this.#type = header[3] as number;
    this.#flags = header[4] as number;
    this.#streamId = header.readUInt32BE(5) & STREAM_MASK;
    const isData = this.#type === FRAME.data;
    if (this.#left > (isData ? this.#maxDataBytes : DEFAULT_MAX_FRAME_BYTES)) {
      throw new SessionError(CODE.frameSizeError, `a frame of ${this.#left} bytes`);
    }
    this.#inFrame = true;
    if (isData) this.#beginData();
    else if (this.#left === 0) this.#finishFrame(NOTHING);
  }

  #beginData(): void {
    if (this.#flags & FLAG.padded) {
      if (this.#left === 0) throw new SessionError(CODE.frameSizeError, 'a padded frame without a pad length');
      this.#wantsPadLength = true;
      return;
    }
    this.#sink.onDataBegin(this.#streamId, this.#left, 0);
    if (this.#left === 0) this.#finishData();
  }

  #readPayload(chunk: Buffer, at: number): number {
    if (this.#type !== FRAME.data) return this.#holdPayload(chunk, at);
    if (this.#wantsPadLength) return this.#readPadLength(chunk, at);
    const dataLeft = this.#left - this.#paddingLeft;
    const length = Math.min(dataLeft > 0 ? dataLeft : this.#left, chunk.length - at);
    this.#left -= length;
    if (dataLeft > 0) this.#sink.onDataPiece(chunk.subarray(at, at + length));
    else this.#paddingLeft -= length;
    if (this.#left === 0) this.#finishData();
    return at + length;
  }

  #readPadLength(chunk: Buffer, at: number): number {
    const padding = chunk[at] as number;
    const whole = this.#left;
    this.#left -= 1;
    if (padding > this.#left) throw new SessionError(CODE.protocolError, 'more padding than the frame has room for');
    this.#wantsPadLength = false;
    this.#paddingLeft = padding;
    this.#sink.onDataBegin(this.#streamId, whole, padding + 1);
    if (this.#left === 0) this.#finishData();
    return at + 1;
  }

  #finishData(): void {
    this.#inFrame = false;
    this.#paddingLeft = 0;
    this.#sink.onDataEnd((this.#flags & FLAG.endStream) !== 0);
  }

  #holdPayload(chunk: Buffer, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    const missing = this.#left - piece.length;
    if (!this.#held && missing === 0) {
      this.#finishFrame(piece);
      return at + piece.length;
    }
    // A view would keep alive all that was read with it.
    this.#held ??= Buffer.allocUnsafe(this.#left);
    piece.copy(this.#held, this.#held.length - this.#left);
    this.#left = missing;
    if (missing === 0) {
      const whole = this.#held;
      this.#held = null;
      this.#finishFrame(whole);
    }
    return at + piece.length;
  }

  #finishFrame(payload: Buffer): void {
    this.#inFrame = false;
    this.#sink.onFrame(this.#type, this.#flags, this.#streamId, payload);
  }
}
