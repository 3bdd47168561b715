import { expect, it } from 'vitest';
import { hashOfSecret, newTokenSecret } from './token-secret.js';

it('makes secrets of 256 bits that a Bearer header, a shell and a URL take as they are', () => {
  const secrets = Array.from({ length: 100 }, newTokenSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) expect(secret).toMatch(/^fairlead_[A-Za-z0-9_-]{43}$/);
});

it('hashes as the API and the gateways do', () => {
  expect(hashOfSecret('abc')).toBe('ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=');
});
