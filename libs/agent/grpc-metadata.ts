/**
 * As much of the Web's `Headers` as ConnectRPC uses for the metadata of gRPC calls. The agent's bundle has it in their place
 * (tools/image/bundle.mjs), because Node's own come with all of undici: 25 ms at each start, for two header fields.
 */
export class GrpcMetadata implements Iterable<[string, string]> {
  readonly #fields = new Map<string, string>();

  constructor(init: Readonly<Record<string, string>> | Iterable<readonly [string, string]> = []) {
    const entries = isIterable(init) ? init : Object.entries(init);
    for (const [name, value] of entries) this.append(name, value);
  }

  append(name: string, value: string): void {
    const before = this.get(name);
    this.#put(name, before === null ? trimmed(value) : `${before}, ${trimmed(value)}`);
  }

  set(name: string, value: string): void {
    this.#put(name, trimmed(value));
  }

  #put(name: string, kept: string): void {
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) || /[\0\r\n]|[^\0-\xff]/.test(kept)) {
      throw new TypeError(`${JSON.stringify(name)} cannot be a header field, or not with this value`);
    }
    this.#fields.set(name.toLowerCase(), kept);
  }

  get(name: string): string | null {
    return this.#fields.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#fields.has(name.toLowerCase());
  }

  delete(name: string): void {
    this.#fields.delete(name.toLowerCase());
  }

  forEach(callback: (value: string, name: string, parent: this) => void): void {
    for (const [name, value] of this) callback(value, name, this);
  }

  keys(): IterableIterator<string> {
    return this.#sorted()
      .map(([name]) => name)
      .values();
  }

  values(): IterableIterator<string> {
    return this.#sorted()
      .map(([, value]) => value)
      .values();
  }

  entries(): IterableIterator<[string, string]> {
    return this.#sorted().values();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  #sorted(): [string, string][] {
    return [...this.#fields].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** Without the white space around it that HTTP does not count. */
function trimmed(value: string): string {
  return value.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
}

function isIterable<Item>(init: object | Iterable<Item>): init is Iterable<Item> {
  return Symbol.iterator in init;
}
