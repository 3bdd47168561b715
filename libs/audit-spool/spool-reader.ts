import { open, type FileHandle } from 'node:fs/promises';
import type { Logger } from '@fairlead/observability';
import type { Batch } from './batch.js';
import { lostRecord } from './lost-count.js';
import { checksumSeed, linesIn } from './record-line.js';
import type { Segment } from './segments.js';

const READ_AT_ONCE = 1024 ** 2;

/** Where to go on: the line at `offset` is the first that may hold `seq`. */
interface Cursor {
  readonly path: string;
  readonly seq: number;
  readonly offset: number;
}

/**
 * Reads what is durable, in order and without a hole: for each number whose line is damaged or missing it gives a record that says that one was lost, so
 * that all that follows can be kept.
 */
export class SpoolReader {
  readonly #logger: Logger;
  #cursor: Cursor | undefined;
  #toldUpTo = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds to a batch what follows it. `segments` from the oldest to the newest; nothing beyond `durableSeq` is read. */
  async addTo(batch: Batch, segments: readonly Segment[], durableSeq: number): Promise<void> {
    while (batch.nextSeq <= durableSeq && !batch.isFull) {
      const at = Math.max(
        0,
        segments.findLastIndex((each) => each.firstSeq <= batch.nextSeq),
      );
      const segment = segments[at];
      if (!segment) break;
      const next = segments[at + 1];
      const lastSeq = Math.min(durableSeq, next ? next.firstSeq - 1 : durableSeq);
      await this.#readSegment(segment, lastSeq, batch);
    }
  }

  async #readSegment(segment: Segment, lastSeq: number, batch: Batch): Promise<void> {
    const known = this.#cursor;
    let offset = known?.path === segment.path && known.seq === batch.nextSeq ? known.offset : 0;
    const handle = await open(segment.path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    try {
      while (batch.nextSeq <= lastSeq && !batch.isFull) {
        const chunk = handle && (await readChunk(handle, offset));
        const done = chunk ? this.#take(chunk, segment, lastSeq, batch) : 0;
        offset += done;
        // The file ends before it should.
        if (done === 0 && !batch.isFull) this.#fill(segment, lastSeq, batch);
      }
    } finally {
      await handle?.close();
    }
    this.#cursor = { path: segment.path, seq: batch.nextSeq, offset };
  }

  /** Bytes that are done with. */
  #take(chunk: Buffer, segment: Segment, lastSeq: number, batch: Batch): number {
    let done = 0;
    for (const { record, end } of linesIn(chunk, checksumSeed(segment.epoch))) {
      if (batch.isFull || batch.nextSeq > lastSeq) return done;
      if (record && record.seq > batch.nextSeq) this.#fill(segment, Math.min(record.seq - 1, lastSeq), batch);
      // It did not all fit: this line comes again.
      if (record && record.seq > batch.nextSeq) return done;
      if (record && record.seq === batch.nextSeq) {
        if (batch.isFull) return done;
        batch.add(record.json);
      }
      done = end;
    }
    // No line is as long as this: it is damaged. At the end of the file one may be on its way.
    return done === 0 && chunk.length === READ_AT_ONCE ? chunk.length : done;
  }

  /** Says of each number up to this one that it was lost, as far as there is room. */
  #fill(segment: Segment, lastSeq: number, batch: Batch): void {
    if (lastSeq > this.#toldUpTo) {
      const first = batch.nextSeq;
      this.#logger.error('audit.spool.damaged', { segment: segment.path, firstSeq: first, count: lastSeq - first + 1 });
      this.#toldUpTo = lastSeq;
    }
    while (batch.nextSeq <= lastSeq && !batch.isFull) {
      batch.add(Buffer.from(JSON.stringify(lostRecord(1, 'its line in the spool of the gateway was damaged'))));
    }
  }
}

async function readChunk(handle: FileHandle, offset: number): Promise<Buffer | undefined> {
  const chunk = Buffer.allocUnsafe(READ_AT_ONCE);
  const { bytesRead } = await handle.read(chunk, 0, chunk.length, offset);
  return bytesRead === 0 ? undefined : chunk.subarray(0, bytesRead);
}
