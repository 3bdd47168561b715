import type { HandshakesRefused } from '@fairlead/contracts';
import { HandshakesRefused as Schema } from '@fairlead/contracts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RefusedHandshakes } from './refused-handshakes.js';

let kept: HandshakesRefused[];
let hasRoom: boolean;
let nowMs: number;
const handshakes = (): RefusedHandshakes => {
  const keep = (record: HandshakesRefused): boolean => {
    if (hasRoom) kept.push(Schema.parse(record));
    return hasRoom;
  };
  return new RefusedHandshakes(keep, { nowMs: () => nowMs });
};

beforeEach(() => {
  [kept, hasRoom, nowMs] = [[], true, 0];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

it('are counted exactly by door and reason, with the addresses that came most', () => {
  const refused = handshakes();
  for (let each = 0; each < 10_000; each += 1) refused.add('connect', 'CERT_HAS_EXPIRED', `192.0.2.${each % 200}`);
  for (let each = 0; each < 500; each += 1) refused.add('connect', 'CERT_HAS_EXPIRED', '192.0.2.7');
  refused.add('kube-api', 'ERR_SSL_HTTP_REQUEST', '192.0.2.1');
  expect(kept).toEqual([]);
  nowMs = 10_000;
  vi.advanceTimersByTime(10_000);
  expect(kept).toMatchObject([
    { door: 'connect', cause: 'CERT_HAS_EXPIRED', count: 10_500, until: '1970-01-01T00:00:10.000Z' },
    { door: 'kube-api', cause: 'ERR_SSL_HTTP_REQUEST', count: 1 },
  ]);
  expect(kept[0]?.addresses).toHaveLength(10);
  expect(kept[0]?.addresses[0]).toEqual({ address: '192.0.2.7', count: 550 });
  refused.tell();
  expect(kept).toHaveLength(2);
});

it('stay counted while there is no room, and of reasons without number there are a few', () => {
  const refused = handshakes();
  hasRoom = false;
  for (let each = 0; each < 5_000; each += 1) refused.add('connect', `REASON_${each}`, '192.0.2.1');
  vi.advanceTimersByTime(30_000);
  refused.add('connect', 'REASON_0', '192.0.2.1');
  hasRoom = true;
  vi.advanceTimersByTime(10_000);
  expect(kept.length).toBeLessThan(70);
  expect(kept.reduce((sum, { count }) => sum + count, 0)).toBe(5_001);
  expect(kept.find(({ cause }) => cause === 'REASON_0')?.count).toBe(2);
});
