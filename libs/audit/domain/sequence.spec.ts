import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NOTHING_YET, advance, type NumberRange, type Sequence } from './sequence.js';

const numbersOf = ({ from, to }: NumberRange): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

function takeAll(ranges: readonly NumberRange[]): { sequence: Sequence; fresh: number[] } {
  let sequence = NOTHING_YET;
  const fresh: number[] = [];
  for (const range of ranges) {
    const next = advance(sequence, range);
    sequence = next.sequence;
    fresh.push(...next.fresh.flatMap(numbersOf));
  }
  return { sequence, fresh };
}

it('takes what follows, and nothing twice', () => {
  const { sequence, fresh } = takeAll([
    { from: 1, to: 3 },
    { from: 1, to: 3 },
    { from: 2, to: 5 },
  ]);
  expect(sequence).toEqual({ mark: 5, missing: [] });
  expect(fresh).toEqual([1, 2, 3, 4, 5]);
});

it('knows what is missing, and takes it when it comes after all', () => {
  const first = takeAll([
    { from: 1, to: 2 },
    { from: 9, to: 10 },
  ]);
  expect(first.sequence).toEqual({ mark: 10, missing: [{ from: 3, to: 8 }] });
  const late = advance(first.sequence, { from: 5, to: 6 });
  expect(late).toEqual({
    fresh: [{ from: 5, to: 6 }],
    sequence: {
      mark: 10,
      missing: [
        { from: 3, to: 4 },
        { from: 7, to: 8 },
      ],
    },
  });
  expect(advance(late.sequence, { from: 1, to: 12 }).sequence).toEqual({ mark: 12, missing: [] });
});

it('gives each number that comes once, in whatever order and however often', () => {
  const range = fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: -1, max: 8 }))
    .map(([from, more]) => ({ from, to: from + more }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 30 }), (ranges) => {
      const { sequence, fresh } = takeAll(ranges);
      const came = new Set(ranges.flatMap(numbersOf));
      expect(fresh.toSorted((a, b) => a - b)).toEqual([...came].toSorted((a, b) => a - b));
      const missing = sequence.missing.flatMap(numbersOf);
      const upToMark = Array.from({ length: sequence.mark }, (_, at) => at + 1);
      expect(missing).toEqual(upToMark.filter((number) => !came.has(number)));
    }),
  );
});
