import { HeaderAssembly, type HeaderBlock } from '../header-block.js';
import { FRAME, LARGEST_WINDOW_BYTES } from '../wire/constants.js';
import { FrameReader, type FrameSink } from '../wire/frame-reader.js';

/** What one end said on one stream. */
export interface RecordedStream {
  /** Fields of its header blocks, trailers included, in their order: `name: value`. */
  readonly headers: readonly string[];
  /** The payload of its DATA frames, put together. */
  readonly data: Buffer;
}

/** Bounds are for untrusted peers; who reads a recording wants all of it. */
const EVERYTHING = { maxListBytes: LARGEST_WINDOW_BYTES, maxFields: 10_000 };

/**
 * Takes apart what one end of an HTTP/2 session wrote, by stream number, header blocks decoded. A frame that has not come to its
 * end counts as far as it is there. Throws SessionError for what is no HTTP/2.
 */
export function readRecordedSession(bytes: Buffer, from: 'client' | 'server'): ReadonlyMap<number, RecordedStream> {
  const recording = new Recording();
  new FrameReader(recording, LARGEST_WINDOW_BYTES, from === 'client').push(bytes);
  const streams = [...recording.streams].map(([id, { headers, pieces }]) => {
    const stream: RecordedStream = { headers, data: Buffer.concat(pieces) };
    return [id, stream] as const;
  });
  return new Map(streams);
}

class Recording implements FrameSink {
  readonly streams = new Map<number, { readonly headers: string[]; readonly pieces: Buffer[] }>();
  readonly #assembly = new HeaderAssembly(EVERYTHING);
  #dataOf = 0;

  onDataBegin(streamId: number): void {
    this.#dataOf = streamId;
  }

  onDataPiece(piece: Buffer): void {
    this.#stream(this.#dataOf).pieces.push(piece);
  }

  onDataEnd(): void {
    this.#dataOf = 0;
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === FRAME.headers) this.#keep(this.#assembly.begin(streamId, flags, payload));
    if (type === FRAME.continuation) this.#keep(this.#assembly.continue(streamId, flags, payload));
  }

  #keep(block: HeaderBlock | null): void {
    if (!block) return;
    if (!block.fields) throw new Error('a recorded header block is larger than any');
    this.#stream(block.streamId).headers.push(...block.fields.map(([name, value]) => `${name}: ${value}`));
  }

  #stream(id: number): { readonly headers: string[]; readonly pieces: Buffer[] } {
    const stream = this.streams.get(id) ?? { headers: [], pieces: [] };
    this.streams.set(id, stream);
    return stream;
  }
}
