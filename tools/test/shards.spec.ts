import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fitting, parseShard, shardOf } from './shards.js';
import type { Timings } from './timings.js';

const timingsOf = (walls: readonly number[]): Timings =>
  Object.fromEntries(walls.map((wallS, index) => [`f${index}`, { wallS, cpuS: wallS / 2, needs: [] }]));

it('reads i/n', () => {
  expect(parseShard('2/5')).toEqual({ index: 2, count: 5 });
  for (const wrong of ['0/5', '6/5', '2', 'a/b', '']) expect(() => parseShard(wrong)).toThrow(/expected i\/n/u);
});

it('has each file in exactly one shard', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(600), { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (walls, count) => {
      const timings = timingsOf(walls);
      const files = [...Object.keys(timings), 'unknown'];
      const shards = Array.from({ length: count }, (_, index) => shardOf(files, { index: index + 1, count }, timings));
      expect(shards.flat().sort()).toEqual([...files].sort());
    }),
  );
});

it('takes as many files as fit, and one at least', () => {
  const timings = timingsOf([600, 60, 60]);
  expect(fitting(['f0', 'f1', 'f2'], 1, timings, 2)).toEqual(['f0']);
  expect(fitting(['f1', 'f2'], 30, timings, 2)).toEqual(['f1', 'f2']);
  expect(fitting([], 30, timings, 2)).toEqual([]);
});
