import { toFairleadError } from '@fairlead/errors';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionLimiter, type Place } from './connection-limits.js';

function outcomeOf(limiter: ConnectionLimiter, client: string, onTaken: (place: Place) => void): string {
  try {
    onTaken(limiter.take(client));
    return 'taken';
  } catch (error) {
    return toFairleadError(error).code;
  }
}

describe('connections', () => {
  it('are never more than the limits, and none is forgotten or given twice', () => {
    const step = fc.record({
      client: fc.constantFrom('a', 'b', 'c'),
      act: fc.constantFrom('take', 'opened', 'release'),
      at: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const limits = { total: 7, perClient: 4, opensPerClient: 2, halfClosedStallMs: 1 };
        const limiter = new ConnectionLimiter(limits);
        const held: { client: string; place: Place; opening: boolean }[] = [];
        for (const { client, act, at } of steps) {
          const own = held.filter((entry) => entry.client === client);
          const full = held.length >= limits.total;
          const room = !full && own.length < 4 && own.filter(({ opening }) => opening).length < 2;
          const due = room ? 'taken' : full ? 'UNAVAILABLE' : 'RATE_LIMITED';
          const take = (): string => outcomeOf(limiter, client, (place) => held.push({ client, place, opening: true }));
          expect(act === 'take' ? take() : due).toBe(due);
          const entry = held[at % Math.max(held.length, 1)];
          if (!entry || act === 'take') continue;
          // As callers do: more than once is as good as once.
          for (let again = 0; again < 2; again += 1) entry.place[act]();
          entry.opening = false;
          if (act === 'release') held.splice(held.indexOf(entry), 1);
          expect(limiter.total).toBe(held.length);
        }
      }),
    );
  });
});
