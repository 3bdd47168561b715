import { LIMITS } from './limits.js';

/**
 * How many parked tunnels a link should have ready, from what was asked of it: one while nothing happens, twice as many
 * each time somebody had to wait for one, half as many after each calm while. Pure.
 */
export class SpareTunnels {
  #desired = 1;
  /** Asked for, and not here yet. */
  #coming = 0;
  #waited = false;

  get desired(): number {
    return this.#desired;
  }

  /** Somebody came and there was none. Returns how many to ask the agent for. */
  missed(parked: number): number {
    this.#waited = true;
    this.#desired = Math.min(this.#desired * 2, LIMITS.maxSpareTunnels);
    return this.#ask(Math.max(1, this.#desired - parked - this.#coming));
  }

  /** One was used. Returns how many to ask for: many at once, or none. */
  used(parked: number): number {
    const missing = this.#desired - parked - this.#coming;
    return missing > this.#desired / 2 ? this.#ask(missing) : 0;
  }

  arrived(): void {
    this.#coming = Math.max(0, this.#coming - 1);
  }

  /** A while has passed. Returns how many of those that are parked can go. */
  calm(parked: number): number {
    // An agent at its limit parks less than it was asked for.
    this.#coming = 0;
    if (!this.#waited) this.#desired = Math.max(1, Math.floor(this.#desired / 2));
    this.#waited = false;
    return Math.max(0, parked - this.#desired);
  }

  #ask(count: number): number {
    this.#coming += count;
    return count;
  }
}
