import { FairleadError } from '@fairlead/errors';

const FIRST_SLOTS = 1 << 12;
const FILLED_AT_MOST = 0.7;
const WORDS = 4;

/** What is kept of an id: flags of 8 bits, of which the lowest says that the slot is taken, and a number of 16. */
const TAKEN = 1;

/**
 * UUIDs with 7 flags and a number of 16 bits each, in 19 bytes a slot: a million of them take 40 MB. A hash table with open addressing, as a `Map` of strings takes
 * several times that.
 */
export class IdTable {
  readonly #most: number;
  #slots = FIRST_SLOTS;
  #ids = new Uint32Array(FIRST_SLOTS * WORDS);
  #flags = new Uint8Array(FIRST_SLOTS);
  #numbers = new Uint16Array(FIRST_SLOTS);
  #size = 0;

  /** It holds `most` of them: one more is TOO_LARGE. */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of an id; it is the same until another one is added. Undefined: it is not there. */
  find(id: string): number | undefined {
    const slot = this.#slotOf(wordsOf(id));
    return this.#flags[slot] === 0 ? undefined : slot;
  }

  /** Its slot, and whether it is new. */
  add(id: string): { readonly slot: number; readonly isNew: boolean } {
    if (this.#size >= this.#slots * FILLED_AT_MOST) this.#grow();
    const words = wordsOf(id);
    const slot = this.#slotOf(words);
    if (this.#flags[slot] !== 0) return { slot, isNew: false };
    if (this.#size >= this.#most) throw new FairleadError('TOO_LARGE', `there are more than ${this.#most} requests`);
    this.#put(slot, words, TAKEN, 0);
    return { slot, isNew: true };
  }

  has(slot: number, flag: number): boolean {
    return ((this.#flags[slot] ?? 0) & flag) !== 0;
  }

  mark(slot: number, flag: number): void {
    this.#flags[slot] = (this.#flags[slot] ?? 0) | flag;
  }

  numberAt(slot: number): number {
    return this.#numbers[slot] ?? 0;
  }

  setNumber(slot: number, number: number): void {
    this.#numbers[slot] = number;
  }

  idAt(slot: number): string {
    const words = this.#ids.subarray(slot * WORDS, (slot + 1) * WORDS);
    const hex = [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }

  /** Slots that are taken. */
  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#slots; slot += 1) if (this.#flags[slot] !== 0) yield slot;
  }

  #slotOf(words: Words): number {
    const mask = this.#slots - 1;
    for (let slot = hashOf(words) & mask; ; slot = (slot + 1) & mask) {
      if (this.#flags[slot] === 0 || this.#holds(slot, words)) return slot;
    }
  }

  #holds(slot: number, words: Words): boolean {
    const at = slot * WORDS;
    return words.every((word, part) => this.#ids[at + part] === word);
  }

  #put(slot: number, words: ArrayLike<number>, flags: number, number: number): void {
    this.#ids.set(words, slot * WORDS);
    this.#flags[slot] = flags;
    this.#numbers[slot] = number;
    this.#size += 1;
  }

  #grow(): void {
    const [slots, ids, flags, numbers] = [this.#slots, this.#ids, this.#flags, this.#numbers];
    this.#slots = slots * 2;
    this.#ids = new Uint32Array(this.#slots * WORDS);
    this.#flags = new Uint8Array(this.#slots);
    this.#numbers = new Uint16Array(this.#slots);
    this.#size = 0;
    for (let slot = 0; slot < slots; slot += 1) {
      const taken = flags[slot] ?? 0;
      if (taken === 0) continue;
      const words = [...ids.subarray(slot * WORDS, (slot + 1) * WORDS)] as unknown as Words;
      this.#put(this.#slotOf(words), words, taken, numbers[slot] ?? 0);
    }
  }
}

type Words = readonly [number, number, number, number];

function wordsOf(id: string): Words {
  const hex = id.replaceAll('-', '');
  const word = (at: number): number => Number.parseInt(hex.slice(at * 8, at * 8 + 8), 16);
  return [word(0), word(1), word(2), word(3)];
}

/** Ids of version 7 begin alike: all of one counts. The last step is that of MurmurHash3. */
function hashOf([a, b, c, d]: Words): number {
  let mixed = a ^ Math.imul(b, 0x9e3779b1) ^ Math.imul(c, 0x85ebca77) ^ Math.imul(d, 0xc2b2ae3d);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
