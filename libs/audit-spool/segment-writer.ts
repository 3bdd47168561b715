import { open, type FileHandle } from 'node:fs/promises';
import { checksumSeed, encodeLines, type EncodableRecord, type EncodedLines } from './record-line.js';
import { segmentAt, syncDirectory, type Segment } from './segments.js';

export interface SegmentWriterOptions {
  readonly dir: string;
  readonly maxBytes: number;
  readonly epoch: string;
  readonly segments: Segment[];
  readonly lastSeq: number;
}

/** How far a segment is written, or durable. */
interface Mark {
  readonly seq: number;
  readonly bytes: number;
}

const MAX_SEGMENT_BYTES = 4 * 1024 ** 2;
/** Whole segments are given up: of few, each is much. */
const SEGMENTS = 32;

/** Writes lines at the end of the newest segment. One call at a time; after one has failed, `takeBack`. */
export class SegmentWriter {
  readonly epoch: string;
  readonly #dir: string;
  readonly #segmentBytes: number;
  readonly #segments: Segment[];
  readonly #seed: number;
  #file: FileHandle | undefined;
  #written: Mark;
  #durable: Mark;
  #syncFailed = false;
  #needsCut = false;

  private constructor({ dir, maxBytes, epoch, segments, lastSeq }: SegmentWriterOptions) {
    this.epoch = epoch;
    this.#dir = dir;
    this.#segmentBytes = Math.min(MAX_SEGMENT_BYTES, Math.floor(maxBytes / SEGMENTS));
    this.#segments = segments;
    this.#seed = checksumSeed(epoch);
    this.#written = { seq: lastSeq, bytes: segments.at(-1)?.bytes ?? 0 };
    this.#durable = this.#written;
  }

  static async open(options: SegmentWriterOptions): Promise<SegmentWriter> {
    const writer = new SegmentWriter(options);
    const newest = options.segments.at(-1);
    if (newest) {
      writer.#file = await open(newest.path, 'r+');
      // A process that was killed has left in the kernel's hands what it had written.
      await writer.sync();
      await syncDirectory(options.dir);
    } else {
      await writer.#begin();
    }
    return writer;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  get writtenSeq(): number {
    return this.#written.seq;
  }

  get durableSeq(): number {
    return this.#durable.seq;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, each) => sum + each.bytes, 0);
  }

  /** Returns the number of the first one, and what was written. */
  async write(
    records: readonly EncodableRecord[],
  ): Promise<{ readonly firstSeq: number; readonly lines: EncodedLines }> {
    if (this.#needsCut) await this.#mend();
    if (this.#written.bytes >= this.#segmentBytes) await this.#rotate();
    const { seq, bytes } = this.#written;
    const file = this.#file ?? (await this.#begin());
    const lines = encodeLines(records, seq + 1, this.#seed);
    const { length } = lines.bytes;
    for (let done = 0; done < length;) {
      const { bytesWritten } = await file.write(lines.bytes, done, length - done, bytes + done);
      done += bytesWritten;
    }
    this.#mark({ seq: seq + records.length, bytes: bytes + length });
    return { firstSeq: seq + 1, lines };
  }

  /** All that is written outlasts the loss of power. */
  async sync(): Promise<void> {
    const mark = this.#written;
    this.#syncFailed = true;
    await this.#file?.datasync();
    this.#syncFailed = false;
    this.#durable = mark;
  }

  /**
   * After a failure: forgets what is not certain to be in the file, and returns how many records these are. After a sync that failed nobody knows what of
   * the unsynced is on the disk, whatever the next one says.
   */
  takeBack(): number {
    this.#needsCut = true;
    if (!this.#syncFailed) return 0;
    const count = this.#written.seq - this.#durable.seq;
    this.#mark(this.#durable);
    return count;
  }

  /** Segments, all of whose records are up to this number; they are no part of the spool any more. The newest stays: it knows the epoch. */
  forgetUpTo(seq: number): Segment[] {
    const kept = this.#segments.findIndex((_each, at) => (this.#segments[at + 1]?.firstSeq ?? Infinity) > seq + 1);
    return this.#segments.splice(0, Math.max(0, kept));
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  #mark(written: Mark): void {
    this.#written = written;
    const newest = this.#segments.at(-1);
    if (newest) newest.bytes = written.bytes;
  }

  /** What the full segment holds is durable before anything stands behind it. */
  async #rotate(): Promise<void> {
    await this.sync();
    await this.#begin();
  }

  async #mend(): Promise<void> {
    await this.#file?.truncate(this.#written.bytes);
    // The kernel tells of a failed sync once: the next one of the same file would seem to have worked.
    if (this.#syncFailed) await this.#begin();
    this.#syncFailed = false;
    this.#needsCut = false;
  }

  async #begin(): Promise<FileHandle> {
    const segment = segmentAt(this.#dir, this.epoch, this.#written.seq + 1);
    const isNew = this.#segments.at(-1)?.path !== segment.path;
    const file = await open(segment.path, 'w', 0o600);
    await syncDirectory(this.#dir);
    await this.#file?.close();
    this.#file = file;
    if (isNew) this.#segments.push(segment);
    this.#written = { seq: this.#written.seq, bytes: 0 };
    this.#durable = this.#written;
    return file;
  }
}
