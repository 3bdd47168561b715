import { crc32 } from 'node:zlib';

const NEWLINE = 0x0a;
const CHECKSUM_DIGITS = 8;
/** What stands before the JSON of a line: its checksum, and its number. */
const HEAD = /^([0-9a-f]{8}) ([1-9]\d{0,15}) /;
const LONGEST_HEAD = CHECKSUM_DIGITS + 18;

/** One record of a segment. */
export interface NumberedRecord {
  readonly seq: number;
  readonly json: Buffer;
}

/** A record that is to be written, and how many bytes of UTF-8 it is. */
export interface EncodableRecord {
  readonly json: string;
  readonly jsonBytes: number;
}

/** Lines, one behind the other, and where in them the JSON of each begins and ends. */
export interface EncodedLines {
  readonly bytes: Buffer;
  readonly json: readonly { readonly from: number; readonly to: number }[];
}

/** What the checksums of an epoch's lines begin with: a line of another epoch is no line of this one. */
export function checksumSeed(epoch: string): number {
  return crc32(epoch);
}

/** A line each: `<CRC-32> <seq> <JSON>` and a newline, which JSON has none of. Whatever is damaged, the next line can be found. */
export function encodeLines(records: readonly EncodableRecord[], firstSeq: number, seed: number): EncodedLines {
  const heads = records.map((_record, at) => `${firstSeq + at} `);
  const length = records.reduce(
    (sum, { jsonBytes }, at) => sum + CHECKSUM_DIGITS + 1 + (heads[at]?.length ?? 0) + jsonBytes + 1,
    0,
  );
  const bytes = Buffer.allocUnsafeSlow(length);
  let end = 0;
  const json = records.map((record, at) => {
    const body = end + CHECKSUM_DIGITS + 1;
    const from = body + bytes.write(heads[at] ?? '', body, 'latin1');
    const to = from + bytes.write(record.json, from, 'utf8');
    bytes.write(`${checksum(bytes.subarray(body, to), seed)} `, end, 'latin1');
    end = bytes.writeUInt8(NEWLINE, to);
    return { from, to };
  });
  return { bytes, json };
}

function checksum(body: Buffer, seed: number): string {
  return crc32(body, seed).toString(16).padStart(CHECKSUM_DIGITS, '0');
}

/** Undefined: it is damaged. */
function readLine(line: Buffer, seed: number): NumberedRecord | undefined {
  const [head = '', sum, seq] = HEAD.exec(line.toString('latin1', 0, LONGEST_HEAD)) ?? [];
  if (seq === undefined || line.length === head.length) return undefined;
  if (checksum(line.subarray(CHECKSUM_DIGITS + 1), seed) !== sum) return undefined;
  return { seq: Number(seq), json: line.subarray(head.length) };
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
    yield { end: at + 1, record: readLine(bytes.subarray(from, at), seed) };
    from = at + 1;
  }
}
