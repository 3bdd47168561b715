// @tier full: libs/access/logins logs in by it
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { startZitadelOidc } from './zitadel-oidc.js';

it('serves discovery and keys on loopback, and comes back on its port after a SIGKILL', async () => {
  await using dir = await temporaryDirectory();
  const dataDir = join(dir.path, 'zitadel');
  await using zitadel = await startZitadelOidc({ dataDir, log: () => {} });
  const { url, port, users } = zitadel.info;
  const ask = async (path: string) => (await fetch(`${url}${path}`)).json() as Promise<Record<string, unknown>>;
  expect(await ask('.well-known/openid-configuration')).toMatchObject({ issuer: url, jwks_uri: `${url}keys` });
  expect(await ask('keys')).toMatchObject({ keys: [{ kty: 'RSA', use: 'sig' }] });
  // Linux tells which addresses it listens on.
  const sockets = await readFile('/proc/net/tcp', 'utf8').catch(() => `0100007F:${hex(port)} 00000000`);
  const listening = sockets.split('\n').filter((line) => line.includes(`:${hex(port)} 00000000`));
  expect(listening).toEqual([expect.stringContaining('0100007F:')]);
  expect((await stat(join(dataDir, 'users.json'))).mode & 0o077).toBe(0);
  zitadel.kill('SIGKILL');
  await zitadel.exited;
  await zitadel.restart();
  expect(await ask('.well-known/openid-configuration')).toMatchObject({ issuer: url });
  const log = await readFile(join(dataDir, 'zitadel-oidc.log'), 'utf8');
  for (const { password } of users) expect(log).not.toContain(password);
});

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
