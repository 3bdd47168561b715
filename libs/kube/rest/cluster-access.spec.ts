import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { accessFromKubeconfig } from './cluster-access.js';
import { accessFromPod } from './pod-access.js';

let scratch: ScratchDir;
beforeEach(async () => {
  scratch = await scratchDir();
});
afterEach(() => scratch[Symbol.asyncDispose]());

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function kubeconfig(user: object, server = 'https://[::1]:6443'): Promise<string> {
  const path = join(scratch.path, 'kubeconfig');
  const cluster = { server, 'certificate-authority-data': base64('ca') };
  const config = {
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'b', user: 'b' } },
      { name: 'here', context: { cluster: 'a', user: 'a' } },
    ],
    clusters: [{ name: 'a', cluster }],
    users: [{ name: 'a', user }],
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

it('takes a client certificate, from the file or beside it', async () => {
  await writeFile(join(scratch.path, 'client.key'), 'key');
  const user = { 'client-certificate-data': base64('cert'), 'client-key': 'client.key' };
  expect(await accessFromKubeconfig(await kubeconfig(user))).toEqual({
    host: '::1',
    port: 6443,
    caPem: 'ca',
    clientCertificate: { certPem: 'cert', keyPem: 'key' },
  });
});

it('takes a token, or reads it anew from its file', async () => {
  const access = await accessFromKubeconfig(await kubeconfig({ token: 'one' }, 'https://api.example.com'));
  expect([access.port, await access.token?.()]).toEqual([443, 'one']);
  const tokenFile = join(scratch.path, 'token');
  const { token } = await accessFromKubeconfig(await kubeconfig({ tokenFile }));
  for (const value of ['two', 'three']) {
    await writeFile(tokenFile, `${value}\n`);
    expect(await token?.()).toBe(value);
  }
});

it.each([
  ['programs are not run for credentials', { exec: { command: 'aws' } }, 'https://api.example.com'],
  ['plain HTTP is no way to an API server', { token: 'one' }, 'http://api.example.com'],
])('%s', async (_what, user, server) => {
  await expect(accessFromKubeconfig(await kubeconfig(user, server))).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

it('a pod has its service account', async () => {
  await writeFile(join(scratch.path, 'ca.crt'), 'ca');
  await writeFile(join(scratch.path, 'token'), 'one\n');
  const access = await accessFromPod({ host: '[fd00::1]', port: 443, serviceAccountDir: scratch.path });
  expect([access.host, await access.token?.()]).toEqual(['fd00::1', 'one']);
});
