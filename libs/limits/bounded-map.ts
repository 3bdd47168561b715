/**
 * What happens to one key too many. `forget-oldest`: the entry that was set longest ago goes. `refuse`: the new one does
 * not come in, and `set` says so.
 */
export type Overflow = 'forget-oldest' | 'refuse';

export interface BoundedMapOptions<K, V> {
  /** Entries at most; above zero. */
  readonly max: number;
  readonly overflow: Overflow;
  /** Told of each entry that went because there was no room. Not of those that were deleted. */
  readonly onForgotten?: (key: K, value: V) => void;
}

/** A map whose keys come from outside: it holds so many and no more. Its order is that in which entries were set last, the oldest first. */
export class BoundedMap<K, V> {
  readonly #options: BoundedMapOptions<K, V>;
  readonly #entries = new Map<K, V>();

  constructor(options: BoundedMapOptions<K, V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** Leaves the order as it is. */
  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Makes this entry the newest. False: it was refused, and nothing has changed. */
  set(key: K, value: V): boolean {
    const { max, overflow, onForgotten } = this.#options;
    const known = this.#entries.delete(key);
    if (!known && overflow === 'refuse' && this.#entries.size >= max) return false;
    this.#entries.set(key, value);
    const oldest = this.#entries.entries().next();
    if (this.#entries.size > max && !oldest.done) {
      const [oldKey, oldValue] = oldest.value;
      this.#entries.delete(oldKey);
      onForgotten?.(oldKey, oldValue);
    }
    return true;
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  keys(): MapIterator<K> {
    return this.#entries.keys();
  }

  values(): MapIterator<V> {
    return this.#entries.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#entries.entries();
  }
}
