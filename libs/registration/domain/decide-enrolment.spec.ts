import { expect, it } from 'vitest';
import { decideEnrolment, type PresentedToken } from './decide-enrolment.js';

const now = new Date('2026-01-01T00:00:00Z');
const fresh: PresentedToken = { expiresAt: new Date('2026-01-01T00:00:01Z'), revokedAt: null, bound: null };
const spent: PresentedToken = { ...fresh, bound: { spkiSha256: 'mine', generation: 3 } };
const waiting: PresentedToken = { ...fresh, bound: { spkiSha256: 'mine', generation: null } };
const expired = { expiresAt: now };
const revoked = { revokedAt: now };

it.each<[string, PresentedToken, number, string, object]>([
  ['spends an unspent one', fresh, 2, 'mine', { kind: 'bind', generation: 3 }],
  ['answers the same key again', spent, 3, 'mine', { kind: 'repeat', generation: 3 }],
  ['never another key', spent, 3, 'other', { kind: 'refuse', code: 'TOKEN_USED' }],
  ['another key, expired or not', { ...spent, ...expired }, 3, 'other', { kind: 'refuse', code: 'TOKEN_USED' }],
  ['the key that waited with it', waiting, 2, 'mine', { kind: 'bind', generation: 3 }],
  ['no other key while one waits', waiting, 2, 'other', { kind: 'refuse', code: 'TOKEN_USED' }],
  ['not who waited past its end', { ...waiting, ...expired }, 2, 'mine', { kind: 'refuse', code: 'TOKEN_EXPIRED' }],
  ['not after its end', { ...fresh, ...expired }, 2, 'mine', { kind: 'refuse', code: 'TOKEN_EXPIRED' }],
  ['not the same key after its end', { ...spent, ...expired }, 3, 'mine', { kind: 'refuse', code: 'TOKEN_EXPIRED' }],
  ['not when revoked', { ...fresh, ...revoked }, 2, 'mine', { kind: 'refuse', code: 'TOKEN_REVOKED' }],
  ['not after a later enrolment', spent, 4, 'mine', { kind: 'refuse', code: 'TOKEN_REVOKED' }],
])('%s', (_, token, generation, spki, expected) => {
  expect(decideEnrolment(token, { generation, lastGeneration: generation }, spki, now)).toMatchObject(expected);
});

it('gives no number again, not even one of an enrolment that was never finished', () => {
  const cluster = { generation: 2, lastGeneration: 4 };
  expect(decideEnrolment(fresh, cluster, 'mine', now)).toEqual({ kind: 'bind', generation: 5 });
  expect(decideEnrolment({ ...spent, bound: { spkiSha256: 'mine', generation: 2 } }, cluster, 'mine', now)).toEqual({
    kind: 'repeat',
    generation: 2,
  });
});
