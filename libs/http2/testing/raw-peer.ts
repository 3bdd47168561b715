import type { TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { HpackDecoder, encodeHeaders, type HeaderField } from '../hpack/index.js';
import { FLAG, FRAME, PREFACE } from '../wire/constants.js';
import { frame, settingsFrame } from '../wire/frames.js';

export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

const HEADER_BYTES = 9;

/** A peer that writes the frames it is told to, right or wrong, and keeps those that come. It answers nothing by itself. */
export class RawPeer {
  readonly socket: TLSSocket;
  readonly frames: RawFrame[] = [];
  gone = false;
  #rest: Buffer = Buffer.alloc(0);
  readonly #hpack = new HpackDecoder({ maxListBytes: 65_536, maxFields: 256 });

  #skip: number;

  /** `skip` bytes come before the first frame. */
  constructor(socket: TLSSocket, skip: number) {
    this.socket = socket;
    this.#skip = skip;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.once('close', () => (this.gone = true));
  }

  /** Says what every client says first. */
  static client(socket: TLSSocket, settings: readonly (readonly [number, number])[] = []): RawPeer {
    const peer = new RawPeer(socket, 0);
    peer.send(PREFACE, settingsFrame(settings));
    return peer;
  }

  static server(socket: TLSSocket, settings: readonly (readonly [number, number])[] = []): RawPeer {
    const peer = new RawPeer(socket, PREFACE.length);
    peer.send(settingsFrame(settings));
    return peer;
  }

  /** In one write, so that the other end most likely reads it at once. */
  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  of(type: number, streamId?: number): RawFrame[] {
    return this.frames.filter((each) => each.type === type && (streamId === undefined || each.streamId === streamId));
  }

  /** The first frame of a type, once it is there. */
  next(type: number, streamId?: number): Promise<RawFrame> {
    return eventually(
      () => {
        const [first] = this.of(type, streamId);
        if (!first) throw new Error(`no frame of type ${type} on ${streamId ?? 'any stream'}`);
        return first;
      },
      { intervalMs: 2 },
    );
  }

  /** The error code of RST_STREAM on a stream, once it is there. */
  async resetCode(streamId: number): Promise<number> {
    return (await this.next(FRAME.rstStream, streamId)).payload.readUInt32BE(0);
  }

  async goawayCode(): Promise<number> {
    return (await this.next(FRAME.goaway)).payload.readUInt32BE(4);
  }

  /** Header blocks have to be decoded in their order. */
  decode({ payload }: RawFrame): readonly HeaderField[] {
    const block = this.#hpack.decode(payload);
    return block.kind === 'fields' ? block.fields : [];
  }

  #read(chunk: Buffer): void {
    const skipped = Math.min(this.#skip, chunk.length);
    this.#skip -= skipped;
    this.#rest = Buffer.concat([this.#rest, chunk.subarray(skipped)]);
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      const [type = 0, flags = 0] = this.#rest.subarray(3, 5);
      const payload = Buffer.from(this.#rest.subarray(HEADER_BYTES, end));
      this.frames.push({ type, flags, streamId: this.#rest.readUInt32BE(5), payload });
      this.#rest = this.#rest.subarray(end);
    }
  }
}

export const REQUEST: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'test'],
];

/** HEADERS, complete. */
export function headers(streamId: number, fields: readonly HeaderField[] = REQUEST, endStream = false): Buffer {
  return frame(FRAME.headers, FLAG.endHeaders | (endStream ? FLAG.endStream : 0), streamId, encodeHeaders(fields));
}

export function data(streamId: number, payload: Uint8Array | string, endStream = false): Buffer {
  return frame(FRAME.data, endStream ? FLAG.endStream : 0, streamId, Buffer.from(payload));
}
