import { readFile, writeFile } from 'node:fs/promises';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { loadLogin, readLogin, saveLogin } from './login-store.js';

const VERSION_1 = {
  version: 1,
  server: 'https://api.example',
  token: 'a-token',
  user: 'admin',
  certificateAuthority: 'PEM',
};
const ISSUED = {
  issuer: { name: 'demo', url: 'https://issuer.example', clientId: 'fairlead' },
  obtainedAt: '2030-01-01T00:00:00.000Z',
  expiresAt: '2030-01-01T00:15:00.000Z',
  session: 'a-session',
  sessionEndsAt: '2030-01-08T00:00:00.000Z',
  refreshToken: 'a-refresh-token',
};

it('reads what an older command wrote, and writes it as this one does', async () => {
  await using scratch = await scratchDir();
  await writeFile(scratch.file('config.json'), JSON.stringify(VERSION_1));
  const { version: _version, ...login } = VERSION_1;
  expect(await loadLogin(scratch.path)).toEqual(login);
  await saveLogin(scratch.path, await loadLogin(scratch.path));
  expect(JSON.parse(await readFile(scratch.file('config.json'), 'utf8'))).toEqual({ ...VERSION_1, version: 2 });
});

it('keeps what a login by an issuer is renewed with', async () => {
  await using scratch = await scratchDir();
  const login = { server: 'https://api.example', token: 'a-token', user: 'demo:dana', issued: ISSUED };
  await saveLogin(scratch.path, login);
  expect(await loadLogin(scratch.path)).toEqual(login);
});

it.each([
  ['no JSON', '{'],
  ['another version', JSON.stringify({ ...VERSION_1, version: 3 })],
  ['no version', JSON.stringify({ ...VERSION_1, version: undefined })],
  ['no token', JSON.stringify({ ...VERSION_1, token: '' })],
  ['a time that is none', JSON.stringify({ ...VERSION_1, version: 2, issued: { ...ISSUED, expiresAt: 'soon' } })],
])('takes %s for no login', (_, text) => {
  expect(readLogin(text)).toBeUndefined();
});

it('does not take what version 1 had no word for', () => {
  expect(readLogin(JSON.stringify({ ...VERSION_1, issued: ISSUED }))).not.toHaveProperty('issued');
});
