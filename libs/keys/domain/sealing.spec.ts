import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { seal, unseal } from './sealing.js';

const key = randomBytes(32);

it('opens what it sealed, and seals the same text differently each time', () => {
  const sealed = seal(key, 'secret', 'a:root');
  expect(unseal(key, sealed, 'a:root')).toBe('secret');
  expect(seal(key, 'secret', 'a:root').equals(sealed)).toBe(false);
  expect(sealed.includes('secret')).toBe(false);
});

it('refuses another key, another context, and every changed byte', () => {
  const sealed = seal(key, 'secret', 'a:root');
  expect(() => unseal(randomBytes(32), sealed, 'a:root')).toThrow(/another master key/);
  expect(() => unseal(key, sealed, 'b:root')).toThrow(/another master key/);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => unseal(key, changed, 'a:root')).toThrow(/another master key/);
  }
  expect(() => unseal(key, Buffer.alloc(3), 'a:root')).toThrow(/another master key/);
});
