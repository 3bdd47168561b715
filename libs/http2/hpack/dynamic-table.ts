import { fieldBytes, type HeaderField } from './header-field.js';

/** So many evicted slots may stand in the array before it is moved together. */
const SLACK_SLOTS = 32;

/** The dynamic table (RFC 7541 2.3.2): newest first, the oldest leave when the bytes exceed the capacity. */
export class DynamicTable {
  /** Oldest first; the slots below #oldest are evicted. An array that only grows and is cut now and then beats unshift(). */
  #entries: (HeaderField | undefined)[] = [];
  #oldest = 0;
  #bytes = 0;
  #capacityBytes: number;

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  get capacityBytes(): number {
    return this.#capacityBytes;
  }

  /** Never above the capacity. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The entry at this place, 0 being the newest; undefined beyond the last. */
  at(place: number): HeaderField | undefined {
    const slot = this.#entries.length - 1 - place;
    return slot < this.#oldest ? undefined : this.#entries[slot];
  }

  /** A field larger than the table empties it and is not kept (RFC 7541 4.4). */
  insert(field: HeaderField): void {
    const bytes = fieldBytes(field);
    this.#evictTo(this.#capacityBytes - bytes);
    if (bytes > this.#capacityBytes) return;
    this.#entries.push(field);
    this.#bytes += bytes;
  }

  resize(capacityBytes: number): void {
    this.#capacityBytes = capacityBytes;
    this.#evictTo(capacityBytes);
  }

  clear(): void {
    this.#entries = [];
    this.#oldest = 0;
    this.#bytes = 0;
  }

  #evictTo(bytes: number): void {
    if (bytes <= 0) return this.clear();
    while (this.#bytes > bytes) {
      this.#bytes -= fieldBytes(this.#entries[this.#oldest] as HeaderField);
      this.#entries[this.#oldest++] = undefined;
    }
    if (this.#oldest < SLACK_SLOTS || this.#oldest * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#oldest);
    this.#oldest = 0;
  }
}
