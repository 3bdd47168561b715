import { crc32 } from 'node:zlib';

const NEWLINE = 0x0a;
const LINE = /^([0-9a-f]{8}) ([1-9]\d{0,15}) (.+)$/s;

/** One record of a segment. */
export interface NumberedRecord {
  readonly seq: number;
  readonly json: string;
}

/** What the checksums of an epoch's lines begin with: a line of another epoch is no line of this one. */
export function checksumSeed(epoch: string): number {
  return crc32(epoch);
}

/** `<CRC-32> <seq> <JSON>` and a newline, which JSON has none of: whatever is damaged, the next line can be found. */
export function recordLine(seq: number, json: string, seed: number): string {
  const body = `${seq} ${json}`;
  return `${checksum(body, seed)} ${body}\n`;
}

function checksum(body: string, seed: number): string {
  return crc32(body, seed).toString(16).padStart(8, '0');
}

/** Undefined: it is damaged. */
function readLine(line: string, seed: number): NumberedRecord | undefined {
  const [, sum, seq, json] = LINE.exec(line) ?? [];
  if (seq === undefined || json === undefined || checksum(`${seq} ${json}`, seed) !== sum) return undefined;
  return { seq: Number(seq), json };
}

/** A line, where it ends (behind its newline), and the record in it unless it is damaged. */
export interface FoundLine {
  readonly end: number;
  readonly record: NumberedRecord | undefined;
}

/** Complete lines, first to last; what is behind the last newline is none. */
export function* linesIn(bytes: Buffer, seed: number): Generator<FoundLine> {
  for (let from = 0; ;) {
    const at = bytes.indexOf(NEWLINE, from);
    if (at < 0) return;
    yield { end: at + 1, record: readLine(bytes.toString('utf8', from, at), seed) };
    from = at + 1;
  }
}
