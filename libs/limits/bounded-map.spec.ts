import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.js';

it('forgets the entry that was set longest ago, and tells of it', () => {
  const forgotten: [string, number][] = [];
  const map = new BoundedMap<string, number>({
    max: 2,
    overflow: 'forget-oldest',
    onForgotten: (key, value) => forgotten.push([key, value]),
  });
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect(map.set('c', 4)).toBe(true);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
  map.delete('a');
  expect(forgotten).toEqual([['b', 2]]);
});

it('refuses a new key where that is the policy, and takes a known one', () => {
  const map = new BoundedMap<string, number>({ max: 1, overflow: 'refuse' });
  expect([map.set('a', 1), map.set('b', 2), map.set('a', 3)]).toEqual([true, false, true]);
  expect([...map]).toEqual([['a', 3]]);
});

it('never holds more than its bound, and always what was set last and not refused', () => {
  const step = fc.record({ key: fc.integer({ min: 0, max: 9 }), remove: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom('forget-oldest' as const, 'refuse' as const),
      (steps, max, overflow) => {
        const map = new BoundedMap<number, number>({ max, overflow });
        for (const [at, { key, remove }] of steps.entries()) {
          const present = map.has(key);
          const room = present || map.size < max || overflow === 'forget-oldest';
          expect(remove ? map.delete(key) : map.set(key, at)).toBe(remove ? present : room);
          expect(map.get(key)).toBe(!remove && room ? at : undefined);
          expect(map.size).toBeLessThanOrEqual(max);
        }
      },
    ),
  );
});
