import { toFairleadError } from '@fairlead/errors';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitKey } from './limit-key.js';
import { DoorLimiter, type DoorLimits, type Slot } from './door-limiter.js';
import { Held, LiveConnections, type LiveConnection } from '../passage/live-connections.js';

const PLENTY = { connections: 1_000, opensPerSecond: 1_000, heldBytes: 1_000 };
const limitsOf = (changes: Partial<DoorLimits>): DoorLimits => ({
  total: 1_000,
  waitingPerIdentity: 1_000,
  perIdentity: PLENTY,
  perCluster: PLENTY,
  heldBytes: 2_000,
  ...changes,
});

function outcomeOf(take: () => void): string {
  try {
    take();
    return 'taken';
  } catch (error) {
    return toFairleadError(error).code;
  }
}

function holding(who: string, clusterId: string, bytes: number): LiveConnection {
  return {
    door: 'connect',
    id: 'x',
    who,
    tenantId: 'default',
    clusterId,
    address: '',
    sinceMs: 0,
    shown: () => ({ kind: 'tunnel', target: '', cluster: '', user: who, as: null, owner: null }),
    bytesUp: () => 0,
    bytesDown: () => 0,
    heldBytes: () => bytes,
    refusedNow: () => null,
    end: () => undefined,
  };
}

/** As the watch over connections does. */
function measure(live: LiveConnections): void {
  live.held = new Held();
  for (const connection of live) live.held.add(connection, connection.heldBytes());
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
        const limits = limitsOf({ total: 7, waitingPerIdentity: 2, perIdentity: { ...PLENTY, connections: 4 } });
        const limiter = new DoorLimiter('connect', limits, new LiveConnections());
        const held: { client: string; slot: Slot; opening: boolean }[] = [];
        for (const { client, act, at } of steps) {
          const own = held.filter((entry) => entry.client === client);
          const full = held.length >= limits.total;
          const room = !full && own.length < 4 && own.filter(({ opening }) => opening).length < 2;
          const due = room ? 'taken' : full ? 'UNAVAILABLE' : 'RATE_LIMITED';
          const take = (): string =>
            outcomeOf(() => held.push({ client, slot: limiter.take(client, 0), opening: true }));
          expect(act === 'take' ? take() : due).toBe(due);
          const entry = held[at % Math.max(held.length, 1)];
          if (!entry || act === 'take') continue;
          // As callers do: more than once is as good as once.
          for (let again = 0; again < 2; again += 1) entry.slot[act]();
          entry.opening = false;
          if (act === 'release') held.splice(held.indexOf(entry), 1);
          expect(limiter.total).toBe(held.length);
        }
      }),
    );
  });

  it('of a cluster are limited whoever has them', () => {
    const limits = limitsOf({ perCluster: { ...PLENTY, connections: 2 } });
    const limiter = new DoorLimiter('connect', limits, new LiveConnections());
    const slots = ['a', 'b', 'c'].map((client) => limiter.take(client, 0));
    const use = (slot: Slot | undefined): string => outcomeOf(() => slot?.useCluster('shop'));
    expect(slots.map(use)).toEqual(['taken', 'taken', 'RATE_LIMITED']);
    slots[0]?.release();
    slots[0]?.release();
    expect([use(slots[2]), use(limiter.take('d', 0))]).toEqual(['taken', 'RATE_LIMITED']);
  });

  it('are refused that come faster than they may, and those of others are not', () => {
    const limits = limitsOf({ perIdentity: { ...PLENTY, opensPerSecond: 10 } });
    const limiter = new DoorLimiter('connect', limits, new LiveConnections());
    const open = (client: string, nowMs: number): string => outcomeOf(() => limiter.take(client, nowMs).release());
    const burst = Array.from({ length: 25 }, () => open('a', 0));
    expect(burst.filter((outcome) => outcome === 'taken')).toHaveLength(20);
    expect([open('a', 0), open('b', 0), open('a', 100)]).toEqual(['RATE_LIMITED', 'taken', 'taken']);
  });

  it('are refused while those that stand hold too much, of the client, of the cluster, or of all', () => {
    const live = new LiveConnections();
    const limiter = new DoorLimiter('connect', limitsOf({}), live);
    const forget = live.add(holding('a', 'shop', 1_100));
    measure(live);
    const open = (client: string, cluster: string): string =>
      outcomeOf(() => limiter.take(limitKey('default', client), 0).useCluster(cluster));
    expect([open('a', 'other'), open('b', 'shop'), open('b', 'other')]).toEqual([
      'RATE_LIMITED',
      'RATE_LIMITED',
      'taken',
    ]);
    live.add(holding('c', 'third', 950));
    measure(live);
    expect(open('b', 'other')).toBe('UNAVAILABLE');
    forget();
    measure(live);
    expect(open('a', 'shop')).toBe('taken');
  });
});
