import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.js';

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
