import { expect, it } from 'vitest';
import { PieceLimit } from './fetch-bundle.js';

it('a cluster has two, and gets them back once', () => {
  const slots = new PieceLimit();
  const first = slots.take('a', 'one');
  expect(slots.take('a', 'one')).not.toBeNull();
  expect(slots.take('a', 'one')).toBeNull();
  first?.();
  first?.();
  expect(slots.take('a', 'one')).not.toBeNull();
  expect(slots.take('a', 'one')).toBeNull();
});

it('the clusters of a tenant leave half of them to others', () => {
  const slots = new PieceLimit();
  const taken = Array.from({ length: 64 }, (_, at) => slots.take('a', `cluster-${at}`));
  expect(taken.filter((slot) => slot !== null)).toHaveLength(32);
  const others = Array.from({ length: 64 }, (_, at) => slots.take('b', `other-${at}`));
  expect(others.filter((slot) => slot !== null)).toHaveLength(32);
  expect(slots.take('c', 'third')).toBeNull();
  taken[0]?.();
  // What was refused took nothing of the tenant's share.
  expect(slots.take('a', 'cluster-40')).not.toBeNull();
});
