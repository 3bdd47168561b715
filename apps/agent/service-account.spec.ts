import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readServiceAccount } from './service-account.js';

it('reads a token again after ten seconds, and at once after it could not', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'service-account-'));
  const write = (token: string): void => writeFileSync(join(dir, 'token'), `${token}\n`);
  writeFileSync(join(dir, 'ca.crt'), 'PEM');
  let now = 0;
  const account = await readServiceAccount(dir, () => now);
  expect(account.caPem).toBe('PEM');
  await expect(account.token()).rejects.toThrow('ENOENT');
  write('one');
  expect(await account.token()).toBe('one');
  write('two');
  now = 9_999;
  expect(await account.token()).toBe('one');
  now = 10_000;
  expect(await account.token()).toBe('two');
  rmSync(dir, { recursive: true });
});
