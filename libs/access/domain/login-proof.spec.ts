import { Issuer } from '@fairlead/contracts';
import { describe, expect, it } from 'vitest';
import type { LoginIdentity } from './login-identity.js';
import { checkFirstLogin, checkRenewal, nonceOf } from './login-proof.js';

const issuer = Issuer.parse({ name: 'corp', kind: 'oidc', url: 'https://id.example', audience: 'f', prefix: 'corp:' });
const byCode = { ...issuer, deviceCode: true };
const verifier = 'v'.repeat(43);

describe('a first login', () => {
  it('is taken with the secret behind its nonce', () => {
    expect(checkFirstLogin(issuer, nonceOf(verifier), verifier)).toBe(nonceOf(verifier));
    expect(nonceOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  });

  it.each([
    ['without the secret', nonceOf(verifier), undefined],
    ['with another secret', nonceOf(verifier), 'w'.repeat(43)],
    ['with the nonce itself', nonceOf(verifier), nonceOf(verifier)],
    ['with a secret but no nonce', undefined, verifier],
    ['with a nonce that is no text', 5, verifier],
  ])('is refused %s, also where device codes are taken', (_what, nonce, given) => {
    expect(() => checkFirstLogin(issuer, nonce, given)).toThrow('the token is not taken');
    expect(() => checkFirstLogin(byCode, nonce, given)).toThrow('the token is not taken');
  });

  it('without a nonce is one by device code, where that is allowed', () => {
    expect(checkFirstLogin(byCode, undefined, undefined)).toBeNull();
    expect(() => checkFirstLogin(issuer, undefined, undefined)).toThrow('device code');
  });
});

describe('a renewal', () => {
  const now = new Date(1_000_000);
  const session = { issuer: 'corp', subject: 'u1', user: 'corp:alice', nonce: 'n', endsAt: new Date(2_000_000) };
  const identity: LoginIdentity = { kind: 'login', subject: 'u1', user: 'corp:alice', groups: [] };
  const renew =
    (over: Partial<typeof session>, nonce?: unknown, who = identity) =>
    () =>
      checkRenewal({ ...session, ...over }, issuer, who, nonce, now);

  it('goes on with the same user, with the first nonce or none', () => {
    expect(renew({})).not.toThrow();
    expect(renew({}, 'n')).not.toThrow();
    expect(renew({}, undefined, { ...identity, groups: ['corp:new'] })).not.toThrow();
  });

  it.each([
    ['after the end', renew({ endsAt: now })],
    ['by another issuer', renew({ issuer: 'other' })],
    ['as somebody else', renew({}, undefined, { ...identity, subject: 'u2' })],
    ['under another name', renew({}, undefined, { ...identity, user: 'corp:bob' })],
    ['with another nonce', renew({}, 'm')],
    ['with a nonce where there was none', renew({ nonce: null } as never, 'n')],
  ])('is refused %s', (_what, renewal) => {
    expect(renewal).toThrow('the token is not taken');
  });
});
