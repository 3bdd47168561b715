import { describe, expect, it } from 'vitest';
import { explainTlsFailure, isLoopback, requireLoopback } from './index.js';

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.1.2.3', 'localhost', 'LOCALHOST', '::1', '[::1]'])('%s is', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each([
    '10.0.0.1',
    '127.example.com',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '::',
    '::2',
    '0.0.0.0',
    '',
  ])('%j is not', (host) => {
    expect(isLoopback(host)).toBe(false);
    expect(() => requireLoopback(host, false, 'THE_SETTING')).toThrow(/plain text to .*: set THE_SETTING/);
    expect(() => requireLoopback(host, true, 'THE_SETTING')).not.toThrow();
  });
});

describe('explainTlsFailure', () => {
  const failure = (code: string): Error => Object.assign(new Error('x'), { code });

  it('finds the reason below what wraps it', () => {
    const wrapped = new Error('y', { cause: failure('SELF_SIGNED_CERT_IN_CHAIN') });
    expect(explainTlsFailure(wrapped, '/ca.crt')).toBe('its certificate is not from /ca.crt');
    expect(explainTlsFailure(wrapped, undefined)).toBe('its certificate is not from a CA that this system trusts');
    expect(explainTlsFailure(failure('CERT_HAS_EXPIRED'), undefined)).toContain('expired');
  });

  it('leaves alone what is none of its own', () => {
    expect(explainTlsFailure(failure('ECONNREFUSED'), '/ca.crt')).toBeUndefined();
    expect(explainTlsFailure('text', '/ca.crt')).toBeUndefined();
  });
});
