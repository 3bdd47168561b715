import type { LinkEndpoint } from '@fairlead/pki';
import { expect, it } from 'vitest';
import { withEndpoint, withoutEndpoint } from './endpoint-set.js';

const one = (host: string, more: Partial<LinkEndpoint> = {}): LinkEndpoint => ({
  address: `${host}:443`,
  weight: 1,
  state: 'active',
  ...more,
});
const draining = { state: 'draining' } as const;

it('adds one, and replaces the one at its address', () => {
  const set = withEndpoint([one('a')], one('b'));
  expect(set).toEqual([one('a'), one('b')]);
  expect(withEndpoint(set, one('a', { weight: 7 }))).toEqual([one('b'), one('a', { weight: 7 })]);
  expect(withoutEndpoint(set, 'a:443')).toEqual([one('b')]);
  expect(() => withoutEndpoint(set, 'c:443')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
});

it('never leaves agents without one to go to, but for none at all', () => {
  const conflict = expect.objectContaining({ code: 'CONFLICT' }) as Error;
  expect(() => withEndpoint([], one('a', draining))).toThrow(conflict);
  expect(() => withEndpoint([one('a')], one('a', draining))).toThrow(conflict);
  expect(() => withoutEndpoint([one('a'), one('b', draining)], 'a:443')).toThrow(conflict);
  expect(withEndpoint([one('a'), one('b')], one('a', draining))).toHaveLength(2);
  expect(withoutEndpoint([one('a')], 'a:443')).toEqual([]);
});

it('takes no more than a trust bundle has room for', () => {
  const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;
  const many = Array.from({ length: 32 }, (_, index) => one(`n${index}`));
  expect(() => withEndpoint(many, one('b'))).toThrow(refused);
  expect(withEndpoint(many, one('n7', { weight: 2 }))).toHaveLength(32);
  const long = Array.from({ length: 28 }, (_, index) => one(`${`${'a'.repeat(60)}.`.repeat(4)}n${index}`));
  expect(() => withEndpoint(long, one('b', { serverName: `${`${'a'.repeat(60)}.`.repeat(3)}test` }))).toThrow(
    /allowed/,
  );
});
