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

/** Without the white space around it that HTTP does not count. By hand: an expression looks at a long run of blanks within once for each of them. */
function trimmed(value: string): string {
  let [from, to] = [0, value.length];
  while (from < to && isBlank(value.charCodeAt(from))) from += 1;
  while (to > from && isBlank(value.charCodeAt(to - 1))) to -= 1;
  return value.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

function isIterable<Item>(init: object | Iterable<Item>): init is Iterable<Item> {
  return Symbol.iterator in init;
}
