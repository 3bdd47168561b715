import { expect, it } from 'vitest';
import { NetworkConcurrencyLimit } from './network-concurrency-limit.js';

it('one network takes its part, and leaves the rest to others', () => {
  const places = new NetworkConcurrencyLimit({ total: 5, perNetwork: 2 });
  const first = places.take('2001:db8::1');
  expect(first).not.toBeNull();
  expect(places.take('2001:db8::2')).not.toBeNull();
  expect(places.take('2001:db8::3')).toBeNull();
  first?.();
  first?.();
  expect(places.take('2001:db8::3')).not.toBeNull();
  expect(places.take('2001:db8::4')).toBeNull();
  expect(places.take('192.0.2.1')).not.toBeNull();
});

it('all networks together take no more than there are', () => {
  const places = new NetworkConcurrencyLimit({ total: 3, perNetwork: 2 });
  const taken = [1, 2, 3, 4].map((n) => places.take(`192.0.2.${n}`));
  expect(taken.map((place) => place !== null)).toEqual([true, true, true, false]);
  taken[0]?.();
  expect(places.take('192.0.2.4')).not.toBeNull();
});
