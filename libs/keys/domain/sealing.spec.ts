import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sealBytes, unsealBytes } from './sealing.js';

const key = randomBytes(32);
const secret = Buffer.from('secret');

it('opens what it sealed, and seals the same text differently each time', () => {
  const sealed = sealBytes(key, secret, 'a:root');
  expect(unsealBytes(key, sealed, 'a:root').toString()).toBe('secret');
  expect(sealBytes(key, secret, 'a:root').equals(sealed)).toBe(false);
  expect(sealed.includes('secret')).toBe(false);
});

it('refuses another key, another context, and every changed byte', () => {
  const sealed = sealBytes(key, secret, 'a:root');
  expect(() => unsealBytes(randomBytes(32), sealed, 'a:root')).toThrow(/another master key/);
  expect(() => unsealBytes(key, sealed, 'b:root')).toThrow(/another master key/);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => unsealBytes(key, changed, 'a:root')).toThrow(/another master key/);
  }
  expect(() => unsealBytes(key, Buffer.alloc(3), 'a:root')).toThrow(/another master key/);
});
