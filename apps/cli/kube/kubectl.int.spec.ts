import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findBinary } from '@fairlead/testbed';
import { scratchDir, testAuthority } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { saveLogin } from '../session/login-store.js';
import { kubeconfig } from './kubeconfig.js';

const script = fileURLToPath(new URL('../dist/bundle/main.js', import.meta.url));
const token = 'a-token-that-kubectl-never-sees-in-a-file';

it('lets a real kubectl fetch its token from the built command, for every context', async () => {
  expect(existsSync(script), 'build first: npm run build').toBe(true);
  await using scratch = await scratchDir();
  const authority = await testAuthority();
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  const seen: string[] = [];
  const door = createServer({ key: privateKeyPem, cert: chainPem }, (request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`);
    response.end('ok from the door');
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const url = `https://127.0.0.1:${(door.address() as AddressInfo).port}`;
  const server = 'https://fairlead.example:7070';
  await saveLogin(scratch.file('home'), { server, token, user: 'admin' });
  const access = {
    cluster: { name: 'demo' },
    doors: [
      { name: 'gateway-a', url },
      { name: 'gateway-b', url },
    ],
    certificateAuthority: authority.root.certificatePem,
  };
  const self = { program: process.execPath, args: [script] };
  await writeFile(
    scratch.file('config'),
    stringify(kubeconfig({ accesses: [access], server, self, home: scratch.file('home') })),
  );

  const kubectl = await findBinary('kubectl');
  const get = (...args: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)(kubectl.path, ['--kubeconfig', scratch.file('config'), ...args, 'get', '--raw', '/version'], {
      env: { HOME: scratch.path, PATH: process.env.PATH },
      timeout: 60_000,
    });
  expect((await get()).stdout).toBe('ok from the door');
  expect((await get('--context', 'demo@gateway-b')).stdout).toBe('ok from the door');
  expect(seen).toEqual(Array.from({ length: 2 }, () => `/clusters/demo/version Bearer ${token}`));
  door.close();
});
