import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checksumSeed, linesIn } from './record-line.js';

const NAME = /^([0-9a-f]{32})\.(\d{16})\.log$/;
const SCANNED_AT_ONCE = 1024 ** 2;

/** A file of records, the first of which has this number. */
export interface Segment {
  readonly path: string;
  readonly epoch: string;
  readonly firstSeq: number;
  bytes: number;
}

export function segmentAt(dir: string, epoch: string, firstSeq: number): Segment {
  return { path: join(dir, `${epoch}.${String(firstSeq).padStart(16, '0')}.log`), epoch, firstSeq, bytes: 0 };
}

/** Those of all epochs, by their first number. */
export async function listSegments(dir: string): Promise<Segment[]> {
  const found: Segment[] = [];
  for (const name of await readdir(dir)) {
    const [, epoch, digits] = NAME.exec(name) ?? [];
    if (epoch === undefined) continue;
    const path = join(dir, name);
    found.push({ path, epoch, firstSeq: Number(digits), bytes: (await stat(path)).size });
  }
  return found.toSorted((one, other) => one.firstSeq - other.firstSeq);
}

/** It is no part of the spool any more, and stays for people to look at. */
export async function setAside({ path }: Segment): Promise<void> {
  await rename(path, `${path}.set-aside`);
}

export async function removeSegment({ path }: Segment): Promise<void> {
  await rm(path, { force: true });
}

/** A file's name is durable once its directory is. */
export async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The last record of a segment that is whole, and where it ends: what is behind it was being written when the process or the machine died. */
export async function endOf({
  path,
  epoch,
  firstSeq,
}: Segment): Promise<{ readonly seq: number; readonly bytes: number }> {
  const seed = checksumSeed(epoch);
  const handle = await open(path, 'r');
  const end = { seq: firstSeq - 1, bytes: 0 };
  try {
    for (let rest = Buffer.alloc(0), at = 0; ;) {
      const chunk = Buffer.alloc(SCANNED_AT_ONCE);
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, at + rest.length);
      if (bytesRead === 0) return end;
      const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      let done = 0;
      for (const line of linesIn(bytes, seed)) {
        done = line.end;
        if (line.record) Object.assign(end, { seq: line.record.seq, bytes: at + line.end });
      }
      rest = bytes.subarray(done);
      at += done;
    }
  } finally {
    await handle.close();
  }
}
