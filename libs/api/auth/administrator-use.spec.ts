import { expect, it } from 'vitest';
import { AdministratorUse } from './administrator-use.js';

it('is told once a minute for each token, with how many there were since, and of nobody else', () => {
  let now = 0;
  const use = new AdministratorUse(() => now);
  const [token, other] = [crypto.randomUUID(), crypto.randomUUID()];
  expect(use.next({ kind: 'administrator', tokenId: token })).toBe(0);
  expect(use.next({ kind: 'administrator', tokenId: other })).toBe(0);
  now = 59_999;
  expect(use.next({ kind: 'administrator', tokenId: token })).toBeNull();
  expect(use.next({ kind: 'administrator', tokenId: token })).toBeNull();
  now = 60_000;
  expect(use.next({ kind: 'administrator', tokenId: token })).toBe(2);
  expect(use.next({ kind: 'login', tokenId: crypto.randomUUID() })).toBeNull();
});
