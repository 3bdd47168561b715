import { expect, it } from 'vitest';
import { z } from 'zod';
import { afterBundle, storedEndpoints, withoutFormer, type StoredEndpoints } from './known-endpoints.js';
import { named } from './testing/named.js';

const former = (...hosts: string[]): { address: string }[] => hosts.map((host) => ({ address: `${host}:443` }));

it('keeps what a bundle names, and remembers what it no longer names', () => {
  const first = afterBundle({}, { endpoints: [named('a', { serverName: 'link.a' }), named('b')] });
  expect(first).toEqual({ endpoints: [named('a', { serverName: 'link.a' }), named('b')], formerEndpoints: [] });
  const second = afterBundle(first, { endpoints: [named('b'), named('c')] });
  expect(second.formerEndpoints).toEqual([{ address: 'a:443', serverName: 'link.a' }]);
  const third = afterBundle(second, { endpoints: [named('a')] });
  expect(third.formerEndpoints).toEqual(former('b', 'c'));
});

it('is told nothing by a bundle that names none, and that there are none by one that says so', () => {
  const known = afterBundle({}, { endpoints: [named('a')] });
  expect(afterBundle(known, {})).toEqual(known);
  expect(afterBundle({}, {})).toEqual({});
  expect(afterBundle(known, { endpoints: [] })).toEqual({ endpoints: [], formerEndpoints: former('a') });
});

it('remembers the newest sixteen, until it is told to forget', () => {
  const many = Array.from({ length: 20 }, (_, index) => named(`n${index}`));
  const known = many.reduce<StoredEndpoints>((before, one) => afterBundle(before, { endpoints: [one] }), {});
  expect(known.formerEndpoints).toEqual(former(...Array.from({ length: 16 }, (_, index) => `n${18 - index}`)));
  const forgot = withoutFormer(known);
  expect(forgot.formerEndpoints).toEqual([]);
  expect(withoutFormer(forgot)).toBe(forgot);
});

it('passes over what it stored and cannot read any more, and loses no identity by it', () => {
  const stored = { endpoints: [{ ...named('a'), address: 'nowhere' }], formerEndpoints: former('b') };
  expect(z.object(storedEndpoints).parse(stored)).toEqual({ formerEndpoints: former('b') });
});
