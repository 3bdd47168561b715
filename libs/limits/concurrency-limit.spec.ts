import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConcurrencyLimit, NetworkConcurrencyLimit } from './concurrency-limit.js';

it('lets in whoever has room, whatever comes and goes, and counts each way back once', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c'), leave: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const limit = new ConcurrencyLimit({ total: 4, perKey: 2 });
      const inside: { key: string; giveBack: () => void }[] = [];
      for (const { key, leave } of steps) {
        const leaving = leave ? inside.shift() : undefined;
        leaving?.giveBack();
        leaving?.giveBack();
        const room = inside.length < 4 && inside.filter((one) => one.key === key).length < 2;
        const giveBack = limit.take(key);
        expect(giveBack !== null).toBe(room);
        if (giveBack) inside.push({ key, giveBack });
      }
    }),
  );
});

it('one network takes its part, and leaves the rest to others', () => {
  const slots = new NetworkConcurrencyLimit({ total: 5, perNetwork: 2 });
  const first = slots.take('2001:db8::1');
  expect(first).not.toBeNull();
  expect(slots.take('2001:db8::2')).not.toBeNull();
  expect(slots.take('2001:db8::3')).toBeNull();
  first?.();
  first?.();
  expect(slots.take('2001:db8::3')).not.toBeNull();
  expect(slots.take('2001:db8::4')).toBeNull();
  expect(slots.take('192.0.2.1')).not.toBeNull();
});

it('all networks together take no more than there are', () => {
  const slots = new NetworkConcurrencyLimit({ total: 3, perNetwork: 2 });
  const taken = [1, 2, 3, 4].map((n) => slots.take(`192.0.2.${n}`));
  expect(taken.map((slot) => slot !== null)).toEqual([true, true, true, false]);
  taken[0]?.();
  expect(slots.take('192.0.2.4')).not.toBeNull();
});
