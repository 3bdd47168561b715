import { LARGEST_WINDOW_BYTES } from './wire/constants.js';

/**
 * How much a peer may still send on one stream, or on one connection: what was given and not used, so that what it used
 * and nobody has taken yet never exceeds the target (RFC 9113, section 5.2).
 */
export class ReceiveWindow {
  #target: number;
  /** The peer may send that much more. Below zero only while a new target is smaller than what was given. */
  #open: number;
  /** Came, and was not taken by anybody yet. */
  #held = 0;

  constructor(bytes: number) {
    this.#target = bytes;
    this.#open = bytes;
  }

  get heldBytes(): number {
    return this.#held;
  }

  /** False if the peer sent more than it may. */
  received(bytes: number): boolean {
    this.#open -= bytes;
    this.#held += bytes;
    return this.#open >= 0;
  }

  /** Somebody took this much. Returns by how much the window is to be opened now: 0 until a quarter of it is free. */
  taken(bytes: number): number {
    this.#held -= bytes;
    return this.#topUp(this.#target / 4);
  }

  /** From now on this much. Returns by how much the window is to be opened now; a smaller one comes about as it is used. */
  resize(target: number): number {
    this.#target = Math.min(target, LARGEST_WINDOW_BYTES);
    return this.#topUp(1);
  }

  #topUp(least: number): number {
    const room = this.#target - this.#open - this.#held;
    if (room < least) return 0;
    this.#open += room;
    return room;
  }
}
