import { describe, expect, it } from 'vitest';
import type { IssuedLogin, Login } from './login-store.js';
import { isAlive, renewalOf } from './renewal.js';

const START_MS = Date.parse('2030-01-01T00:00:00Z');
const at = (seconds: number): Date => new Date(START_MS + seconds * 1_000);
const iso = (seconds: number): string => at(seconds).toISOString();

/** Of a quarter of an hour, in a session of an hour. */
const login = (more: Partial<IssuedLogin> = {}): Login => ({
  server: 'https://api.example',
  token: 'a-token',
  user: 'demo:dana',
  issued: {
    issuer: { name: 'demo', url: 'https://issuer.example', clientId: 'fairlead' },
    obtainedAt: iso(0),
    expiresAt: iso(900),
    session: 'a-session',
    sessionEndsAt: iso(3_600),
    refreshToken: 'a-refresh-token',
    ...more,
  },
});

describe('a login by an issuer', () => {
  it.each([
    [0, 'keep'],
    [719, 'keep'],
    [720, 'renew'],
    [899, 'renew'],
    [900, 'renew'],
    [3_599, 'renew'],
    [3_600, 'ended'],
  ])('is renewed in the last fifth of its token, until its session ends: after %i s %s', (seconds, expected) => {
    expect(renewalOf(login(), at(seconds))).toBe(expected);
  });

  it('without a refresh token is used to its end', () => {
    const once = login({ refreshToken: undefined });
    expect([719, 899, 900].map((seconds) => renewalOf(once, at(seconds)))).toEqual(['keep', 'keep', 'ended']);
  });

  it('is not renewed again at once where that has failed', () => {
    const failed = login({ retryAt: iso(850) });
    expect([800, 849, 850].map((seconds) => renewalOf(failed, at(seconds)))).toEqual(['keep', 'keep', 'renew']);
    const later = login({ retryAt: iso(950) });
    expect([899, 900, 950].map((seconds) => renewalOf(later, at(seconds)))).toEqual(['keep', 'wait', 'renew']);
  });

  it('is alive until its token ends', () => {
    expect([isAlive(login(), at(899)), isAlive(login(), at(900))]).toEqual([true, false]);
  });
});

it('an API token is kept for ever', () => {
  const { issued: _issued, ...token } = login();
  expect([renewalOf(token, at(1e9)), isAlive(token, at(1e9))]).toEqual(['keep', true]);
});
