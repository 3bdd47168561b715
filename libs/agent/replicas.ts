/** How many replicas there are, as gateways say. Who dialled all the time and reached the same one has something to look for once there are more. */
export class Replicas {
  #known = 0;
  #more = new AbortController();

  /** 0: that gateway does not say. */
  heard(count: number): void {
    if (count === 0) return;
    const isMore = count > this.#known;
    this.#known = count;
    if (!isMore) return;
    this.#more.abort();
    this.#more = new AbortController();
  }

  /** Aborted when there are more than before, from now on. */
  get more(): AbortSignal {
    return this.#more.signal;
  }
}
