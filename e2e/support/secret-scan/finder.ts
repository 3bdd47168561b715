import { findHashed } from './hashes.js';
import { NEEDLE_CHARS } from './needles.js';

/** Looks like a secret, whether or not this run knows that it issued it. */
const PATTERNS: readonly (readonly [string, RegExp])[] = [
  ['a private key in PEM', /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----/],
  ['a bootstrap token', /\bfl1\.[0-9a-f]{64}\.[A-Za-z0-9-]{1,64}\.[A-Za-z0-9_-]{43}/],
  ['an nkey seed', /\bS[ACNOUX][A-Z2-7]{56}\b/],
  ['a bearer token', /\bBearer [A-Za-z0-9._~+/-]{20}/i],
];

const TABLE_BITS = 16;

/** Finds needles, and what looks like a secret, in bytes. Names them, and never repeats them. */
export class Finder {
  readonly #names: ReadonlyMap<string, string>;
  readonly #hashes: ReadonlyMap<string, string>;
  /** One byte for each hash of a needle's first four characters: most places are passed by after one look. */
  readonly #heads = new Uint8Array(1 << TABLE_BITS);

  /** Both lead to what is to be said of a secret: from a needle, and from the SHA-256 (base64) of what is written as 43 characters. */
  constructor(names: ReadonlyMap<string, string>, hashes: ReadonlyMap<string, string> = new Map()) {
    this.#names = names;
    this.#hashes = hashes;
    for (const needle of names.keys()) this.#heads[headOf(Buffer.from(needle, 'latin1'), 0)] = 1;
  }

  /** What is in it, each once. */
  find(bytes: Buffer): Set<string> {
    const found = new Set<string>();
    const last = bytes.length - NEEDLE_CHARS;
    for (let index = 0; index <= last; index += 1) {
      if (this.#heads[headOf(bytes, index)] === 0) continue;
      const name = this.#names.get(bytes.toString('latin1', index, index + NEEDLE_CHARS));
      if (name !== undefined) found.add(name);
    }
    const text = bytes.toString('latin1');
    for (const [name, pattern] of PATTERNS) if (pattern.test(text)) found.add(name);
    return new Set([...found, ...findHashed(text, this.#hashes)]);
  }
}

function headOf(bytes: Buffer, index: number): number {
  const word =
    (bytes[index] ?? 0) |
    ((bytes[index + 1] ?? 0) << 8) |
    ((bytes[index + 2] ?? 0) << 16) |
    ((bytes[index + 3] ?? 0) << 24);
  return Math.imul(word, 0x9e37_79b1) >>> (32 - TABLE_BITS);
}
