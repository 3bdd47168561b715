import { expect, it } from 'vitest';
import { BundlePlaces } from './bundle-places.js';

it('a cluster has two, and gets them back once', () => {
  const places = new BundlePlaces();
  const first = places.take('a', 'one');
  expect(places.take('a', 'one')).not.toBeNull();
  expect(places.take('a', 'one')).toBeNull();
  first?.();
  first?.();
  expect(places.take('a', 'one')).not.toBeNull();
  expect(places.take('a', 'one')).toBeNull();
});

it('the clusters of a tenant leave half of them to others', () => {
  const places = new BundlePlaces();
  const taken = Array.from({ length: 64 }, (_, at) => places.take('a', `cluster-${at}`));
  expect(taken.filter((place) => place !== null)).toHaveLength(32);
  const others = Array.from({ length: 64 }, (_, at) => places.take('b', `other-${at}`));
  expect(others.filter((place) => place !== null)).toHaveLength(32);
  expect(places.take('c', 'third')).toBeNull();
  taken[0]?.();
  // What was refused took nothing of the tenant's share.
  expect(places.take('a', 'cluster-40')).not.toBeNull();
});
