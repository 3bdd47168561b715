import * as fc from 'fast-check';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { describe, expect, it } from 'vitest';
import { assertAcceptable, impersonationHeaders, type TunnelIdentity } from './impersonation.js';
import { headerPairs } from './request-headers.js';

const alice: TunnelIdentity = { user: 'alice', groups: ['team-a', 'system:authenticated'], extra: [] };
const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `g${index}`);

describe('an identity', () => {
  it.each<[string, TunnelIdentity]>([
    ['somebody with groups', alice],
    ['somebody without', { ...alice, groups: [] }],
    ['somebody whose name merely contains it', { ...alice, user: 'not-system:x' }],
    [
      'the most of everything',
      {
        user: 'u'.repeat(512),
        groups: many(64),
        extra: many(32).map((key) => ({ key, values: many(16) })),
      },
    ],
  ])('is accepted: %s', (_, identity) => {
    expect(() => assertAcceptable(identity)).not.toThrow();
  });

  it.each<[string, Partial<TunnelIdentity>]>([
    ['nobody', { user: '' }],
    ['a system user', { user: 'system:admin' }],
    ['a system user in capitals', { user: 'SYSTEM:kube-controller-manager' }],
    ['a service account', { user: 'system:serviceaccount:kube-system:default' }],
    ['system:masters', { groups: ['system:masters'] }],
    ['a system group behind an allowed one', { groups: ['system:authenticated', 'System:Masters'] }],
    ['a padded system group', { groups: [' system:masters'] }],
    ['system:authenticated in capitals, which is not that group', { groups: ['System:Authenticated'] }],
    ['an empty group', { groups: [''] }],
    ['too many groups', { groups: many(65) }],
    ['too many extras', { extra: many(33).map((key) => ({ key, values: [] })) }],
    ['too many values', { extra: [{ key: 'k', values: many(17) }] }],
    ['a name too long', { user: 'u'.repeat(513) }],
    ['a line break', { user: 'a\r\nImpersonate-User: root' }],
    ['a NUL', { groups: ['a\0b'] }],
    ['a character that Latin-1 would cut down', { user: 'ſystem:admin' }],
    ['an extra key with a line break', { extra: [{ key: 'a\nb', values: ['v'] }] }],
  ])('is refused: %s', (_, change) => {
    expect(() => assertAcceptable({ ...alice, ...change })).toThrow(
      expect.objectContaining({ code: 'IDENTITY_REFUSED' }),
    );
  });

  it('that is accepted always makes headers that cannot be read as anything else', () => {
    const word = fc.string({ minLength: 1, maxLength: 20, unit: 'binary-ascii' });
    const identity = fc.record({
      user: word,
      groups: fc.array(word, { maxLength: 4 }),
      extra: fc.array(fc.record({ key: word, values: fc.array(word, { maxLength: 3 }) }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(identity, (candidate) => {
        try {
          assertAcceptable(candidate);
        } catch {
          return;
        }
        for (const [name, value] of headerPairs(impersonationHeaders(candidate))) {
          expect(() => validateHeaderName(name)).not.toThrow();
          expect(() => validateHeaderValue(name, value)).not.toThrow();
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('impersonation headers', () => {
  it('repeat the group for each group and escape the keys of extras', () => {
    const extra = [{ key: 'example.org/a b(c)%', values: ['1', '2'] }];
    const escaped = 'Impersonate-Extra-example.org%2Fa%20b%28c%29%25';
    const groups = ['Impersonate-Group', 'team-a', 'Impersonate-Group', 'system:authenticated'];
    const wanted = ['Impersonate-User', 'alice', ...groups, escaped, '1', escaped, '2'];
    expect(impersonationHeaders({ ...alice, extra })).toEqual(wanted);
  });
});
