import type { Http2Stream } from './stream.js';

/** So many of the streams that the peer was done with last are remembered. */
const MOST_DONE = 256;
/** Stream numbers have 31 bits. */
const LAST_ID = 2 ** 31 - 1;

/** The streams of one session, and which numbers were used. A client's are odd, a server's even, and they only grow. */
export class StreamTable {
  readonly #streams = new Map<number, Http2Stream>();
  readonly #ownParity: 0 | 1;
  #lastOwn: number;
  #lastPeer = 0;
  #lastTaken = 0;
  #openByPeer = 0;
  readonly #done = new Uint32Array(MOST_DONE);
  #doneCount = 0;

  /** `lastOwn` is for tests that want to come to the end of the numbers. */
  constructor(role: 'client' | 'server', lastOwn?: number) {
    this.#ownParity = role === 'client' ? 1 : 0;
    this.#lastOwn = lastOwn ?? (role === 'client' ? -1 : 0);
  }

  get size(): number {
    return this.#streams.size;
  }

  /** The highest number of the peer's that we took up; those that were refused at once are not among them. */
  get lastTaken(): number {
    return this.#lastTaken;
  }

  get openByPeer(): number {
    return this.#openByPeer;
  }

  get openByUs(): number {
    return this.#streams.size - this.#openByPeer;
  }

  /** There are no numbers left for streams of ours. */
  get isUsedUp(): boolean {
    return this.#lastOwn + 2 > LAST_ID;
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
    if (this.#isOwn(id) || id <= this.#lastPeer) return false;
    this.#lastPeer = id;
    return true;
  }

  add(stream: Http2Stream): void {
    this.#streams.set(stream.id, stream);
    if (this.#isOwn(stream.id)) return;
    this.#openByPeer += 1;
    this.#lastTaken = stream.id;
  }

  remove(stream: Http2Stream): void {
    if (!this.#streams.delete(stream.id)) return;
    if (!this.#isOwn(stream.id)) this.#openByPeer -= 1;
    if (stream.ended) this.peerIsDone(stream.id);
  }

  /** The peer ended or reset the stream: nothing of it may come any more. */
  peerIsDone(id: number): void {
    this.#done[this.#doneCount % MOST_DONE] = id;
    this.#doneCount += 1;
  }

  /** The peer was done with it lately. Of others that are gone it may not know yet that we have reset them. */
  isDone(id: number): boolean {
    return this.#done.includes(id);
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
