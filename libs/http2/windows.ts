import { LARGEST_WINDOW_BYTES } from './wire/constants.js';

/**
 * How much a peer may still send on one stream, or on one connection: what was given and not used, so that what it used
 * and nobody has taken yet never exceeds the target (RFC 9113, section 5.2).
 */
export class ReceiveWindow {
  #target: number;
  /** The peer may send that much more. */
  #open: number;
  /** Came, and was not taken by anybody yet. */
  #held = 0;
  readonly #least: number;

  /** `graceBytes`: so much more may come from a peer that has not read yet how large the window is (section 6.9.3). */
  constructor(bytes: number, graceBytes = 0) {
    this.#target = bytes;
    this.#open = bytes;
    this.#least = -graceBytes;
  }

  get heldBytes(): number {
    return this.#held;
  }

  /** False if the peer sent more than it may. */
  received(bytes: number): boolean {
    this.#open -= bytes;
    this.#held += bytes;
    return this.#open >= this.#least;
  }

  /** Somebody took this much. Returns by how much the window is to be opened now: 0 until a quarter of it is free. */
  taken(bytes: number): number {
    this.#held -= bytes;
    return this.#topUp(this.#target / 4);
  }

  /**
   * From now on this much; a smaller one comes about as it is used. Returns by how much the window is to be opened now,
   * which the peer has to be told: a smaller window, too, may have a part that was taken and not given back yet.
   */
  resize(target: number): number {
    const grows = target > this.#target;
    this.#target = Math.min(target, LARGEST_WINDOW_BYTES);
    return this.#topUp(grows ? 1 : this.#target / 4);
  }

  #topUp(least: number): number {
    const room = this.#target - this.#open - this.#held;
    if (room < least) return 0;
    this.#open += room;
    return room;
  }
}
