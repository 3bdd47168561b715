import { expect, it } from 'vitest';
import { KnownPlaces, connectShares, connectionsOf, kubeApiShares } from './door-places.js';

const code = (take: () => unknown): unknown => {
  try {
    take();
    return 'taken';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it.each([
  { door: 'the Kubernetes API door', shares: kubeApiShares(4_000), connections: 16_000 },
  { door: 'the Kubernetes API door with a larger share of a user', shares: kubeApiShares(20_000), connections: 48_000 },
  { door: 'the CONNECT door', shares: connectShares(10_000, 4_096), connections: 16_500 },
])('at $door one user, and strangers of one network, leave places of both kinds to others', (each) => {
  const { newcomers, known } = each.shares;
  expect(connectionsOf(each.shares)).toBe(each.connections);
  expect(newcomers.total + known.total).toBeLessThanOrEqual(each.connections);
  expect(2 * known.perKey).toBeLessThan(known.total);
  expect(2 * newcomers.perNetwork).toBeLessThanOrEqual(newcomers.total);
});

it('one who has all that one may is told so, and once all have all there is, everybody', () => {
  const places = new KnownPlaces({ total: 3, perKey: 2 }, 'too many');
  const first = places.take('many');
  places.take('many');
  expect(code(() => places.take('many'))).toBe('RATE_LIMITED');
  places.take('other');
  expect(code(() => places.take('third'))).toBe('UNAVAILABLE');
  expect(code(() => places.take('many'))).toBe('RATE_LIMITED');
  first();
  first();
  expect(code(() => places.take('third'))).toBe('taken');
  expect(code(() => places.take('third'))).toBe('UNAVAILABLE');
});
