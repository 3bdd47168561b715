import { FairleadError } from '@fairlead/errors';

/** An entry has its length in two bytes before it. */
export const MAX_ENTRY_BYTES = 65_535;

const LENGTH_BYTES = 2;

/** Entries as tlog-tiles has them: each after its length, big-endian. Throws TOO_LARGE for one of 64 KiB or more. */
export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(entries.flatMap((entry) => [lengthOf(entry), entry]));
}

export interface DecodedBundle {
  readonly entries: readonly Uint8Array[];
  /** Whether bytes are left over that are no whole entry. */
  readonly torn: boolean;
}

/** The entries of a bundle, as far as it can be read: what verifies a log wants to name the entry where it ends. */
export function decodeEntryBundle(bytes: Uint8Array): DecodedBundle {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at + LENGTH_BYTES <= bytes.length) {
    const end = at + LENGTH_BYTES + view.getUint16(at);
    if (end > bytes.length) break;
    entries.push(bytes.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return { entries, torn: at < bytes.length };
}

function lengthOf(entry: Uint8Array): Uint8Array {
  if (entry.length > MAX_ENTRY_BYTES)
    throw new FairleadError(
      'TOO_LARGE',
      `an entry of ${entry.length} bytes does not go into the log, which takes ${MAX_ENTRY_BYTES}: keep its body elsewhere, and its hash in the entry`,
    );
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(entry.length);
  return length;
}
