import type { Http2Stream } from './stream.js';

/** The streams of one session, and which numbers were used. A client's are odd, a server's even, and they only grow. */
export class StreamTable {
  readonly #streams = new Map<number, Http2Stream>();
  readonly #ownParity: 0 | 1;
  #lastOwn: number;
  #lastPeer = 0;
  #openByPeer = 0;

  constructor(role: 'client' | 'server') {
    this.#ownParity = role === 'client' ? 1 : 0;
    this.#lastOwn = role === 'client' ? -1 : 0;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** The highest number the peer used. */
  get lastOfPeer(): number {
    return this.#lastPeer;
  }

  get openByPeer(): number {
    return this.#openByPeer;
  }

  get(id: number): Http2Stream | undefined {
    return this.#streams.get(id);
  }

  all(): Http2Stream[] {
    return [...this.#streams.values()];
  }

  /** The number of the next stream of ours. */
  nextOwn(): number {
    this.#lastOwn += 2;
    return this.#lastOwn;
  }

  /** The peer begins a stream with this number: false if it may not. */
  peerBegins(id: number): boolean {
    if (id % 2 === this.#ownParity || id <= this.#lastPeer) return false;
    this.#lastPeer = id;
    return true;
  }

  add(stream: Http2Stream): void {
    this.#streams.set(stream.id, stream);
    if (!this.#isOwn(stream.id)) this.#openByPeer += 1;
  }

  remove(stream: Http2Stream): void {
    if (this.#streams.delete(stream.id) && !this.#isOwn(stream.id)) this.#openByPeer -= 1;
  }

  /** A number nobody has used yet: a frame on it breaks HTTP/2, while one on a stream that is gone does not. */
  isIdle(id: number): boolean {
    return this.#isOwn(id) ? id > this.#lastOwn : id > this.#lastPeer;
  }

  isOfPeer(id: number): boolean {
    return !this.#isOwn(id);
  }

  #isOwn(id: number): boolean {
    return id % 2 === this.#ownParity;
  }
}
