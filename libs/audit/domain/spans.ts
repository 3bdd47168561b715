import type { NumberRange } from './sequence.js';

/** What most questions find enough in. */
export const FIRST_SPAN = 20_000;
const GROWTH = 4;

/** Ranges of numbers, one behind the other, from one number down to 1: each four times as wide as the one before. */
export function* spansDown(from: number): Generator<NumberRange> {
  for (let [to, width] = [from, FIRST_SPAN]; to >= 1; [to, width] = [to - width, width * GROWTH]) {
    yield { from: Math.max(1, to - width + 1), to };
  }
}

/** The same upwards, from one number to another. */
export function* spansUp(first: number, last: number): Generator<NumberRange> {
  for (let [from, width] = [first, FIRST_SPAN]; from <= last; [from, width] = [from + width, width * GROWTH]) {
    yield { from, to: Math.min(last, from + width - 1) };
  }
}
