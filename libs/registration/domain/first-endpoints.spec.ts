import type { LinkEndpoint } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { firstEndpoints } from './first-endpoints.js';

const one = (host: string, more: Partial<LinkEndpoint> = {}): LinkEndpoint => ({
  address: `${host}:443`,
  weight: 1,
  state: 'active',
  ...more,
});

it('are those of the configuration while none are named', () => {
  expect(firstEndpoints([], ['a:1', 'b:2'])).toEqual(['a:1', 'b:2']);
});

it('are those that are named and not to be left, the heaviest first, 16 at most', () => {
  const named = [one('left', { state: 'draining' }), one('light'), one('heavy', { weight: 9 })];
  expect(firstEndpoints(named, ['a:1'])).toEqual(['heavy:443', 'light:443']);
  const many = Array.from({ length: 20 }, (_, index) => one(`n${index}`));
  expect(firstEndpoints(many, [])).toHaveLength(16);
});

it('are without those that are called otherwise in TLS than the manifest can say, unless all are', () => {
  const other = one('other', { serverName: 'link.example.com' });
  expect(firstEndpoints([other, one('plain')], [])).toEqual(['plain:443']);
  expect(firstEndpoints([other], ['a:1'])).toEqual(['other:443']);
});
