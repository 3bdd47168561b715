// @tier full: builds Vault; that `keys` seals with one key while it opens with others, and moves between them, is shown by
// apps/keys/rewrap-master-key.int.spec.ts, and what happens to requests by vault-client.spec.ts.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { findBinary } from '@fairlead/testbed';
import { scratchDir, testAuthority, type ScratchDir } from '@fairlead/testing';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { masterKeyFrom, type KeySource } from '../../store/master-key.js';
import type { Sealer } from '../../store/sealer.js';
import { masterKeyInVault, type VaultKeyOptions } from './master-key-in-vault.js';

const refused = { code: 'INVALID_ARGUMENT' };

interface Ready {
  readonly address: string;
  readonly token: string;
  readonly unsealKey: string;
}

let scratch: ScratchDir;
let vault: ChildProcess;
let ready: Ready;
let caPem: string;
let tokenFile: string;
let agent: Agent;

beforeAll(async () => {
  scratch = await scratchDir();
  const authority = await testAuthority();
  caPem = authority.root.certificatePem;
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  await writeFile(scratch.file('key.pem'), privateKeyPem, { mode: 0o600 });
  await writeFile(scratch.file('cert.pem'), chainPem);
  const { path } = await findBinary('vault');
  vault = spawn(path, ['-cert', scratch.file('cert.pem'), '-key', scratch.file('key.pem')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: vault.stdout as NodeJS.ReadableStream }), 'line')) as [string];
  ready = JSON.parse(line) as Ready;
  agent = new Agent({ connect: { ca: caPem } });
  tokenFile = scratch.file('token');
  await prepare();
}, 900_000);
afterAll(async () => {
  vault?.stdin?.end();
  await agent?.close();
  await scratch?.[Symbol.asyncDispose]();
});

/** The engine, its keys, and a token that may use them and nothing else: what the runbook says. */
async function prepare(): Promise<void> {
  await asRoot('POST', 'sys/mounts/transit', { type: 'transit' });
  await asRoot('POST', 'transit/keys/fairlead', {});
  await asRoot('POST', 'transit/keys/another', {});
  await asRoot('POST', 'transit/keys/signs', { type: 'ecdsa-p256' });
  await asRoot('POST', 'transit/keys/leaves', { exportable: true });
  const rules = ['keys', 'encrypt', 'decrypt'].map((what) => {
    const capability = what === 'keys' ? 'read' : 'update';
    return `path "transit/${what}/*" { capabilities = ["${capability}"] }`;
  });
  await asRoot('PUT', 'sys/policies/acl/fairlead-keys', { policy: rules.join('\n') });
  const { auth } = await asRoot('POST', 'auth/token/create', { policies: ['fairlead-keys'], no_default_policy: true });
  await writeFile(tokenFile, auth?.client_token ?? '', { mode: 0o600 });
}

async function asRoot(
  method: 'POST' | 'PUT',
  path: string,
  body: object,
): Promise<{ readonly auth?: { readonly client_token: string } }> {
  const headers = { 'x-vault-token': ready.token };
  const origin = `https://${ready.address}`;
  const answer = await agent.request({ origin, path: `/v1/${path}`, method, headers, body: JSON.stringify(body) });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`);
  return text === '' ? {} : (JSON.parse(text) as object);
}

function inVault(overrides: Partial<VaultKeyOptions> = {}): KeySource {
  const options = { url: `https://${ready.address}`, mount: 'transit', key: 'fairlead', tokenFile, caPem };
  return masterKeyInVault({ ...options, deadlineMs: 2_000, ...overrides });
}

const open = (overrides: Partial<VaultKeyOptions> = {}): Promise<Sealer> =>
  masterKeyFrom(inVault(overrides)).open(false);

it('seals with a key that stays in Vault, and opens with the same key, context and bytes only', async () => {
  const sealer = await open();
  await expect(sealer.current()).resolves.toBe('vault:transit/fairlead:v1');
  const sealed = await sealer.seal('secret', 'a:root');
  expect(sealed.toString('latin1')).not.toContain('secret');
  await expect(sealer.unseal(sealed, 'a:root')).resolves.toBe('secret');
  await expect(sealer.unseal(sealed, 'b:root')).rejects.toMatchObject(refused);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expect(sealer.unseal(changed, 'a:root'), `byte ${at}`).rejects.toMatchObject(refused);
  }
  const later = await open({ key: 'another' });
  await expect(later.unseal(sealed, 'a:root')).resolves.toBe('secret');
});

it('has Vault bind each data key to its context', async () => {
  const key = await inVault().open(false);
  const dataKey = randomBytes(32);
  const wrapped = await key.wrap(dataKey, 'a');
  await expect(key.unwrap(wrapped, 'a')).resolves.toEqual(dataKey);
  await expect(key.unwrap(wrapped, 'b')).rejects.toMatchObject(refused);
});

it('goes over to the version that is newest in Vault, and opens older ones for as long as Vault does', async () => {
  const sealer = await open();
  const old = await sealer.seal('secret', 'a');
  await asRoot('POST', 'transit/keys/fairlead/rotate', {});
  await expect(sealer.current()).resolves.toBe('vault:transit/fairlead:v2');
  const fresh = await sealer.seal('secret', 'a');
  await expect(sealer.unseal(old, 'a')).resolves.toBe('secret');
  await asRoot('POST', 'transit/keys/fairlead/config', { min_decryption_version: 2 });
  await expect(sealer.unseal(old, 'a')).rejects.toThrow(/min_decryption_version/);
  await expect(sealer.unseal(fresh, 'a')).resolves.toBe('secret');
});

it('is away while Vault is sealed, and goes on', async () => {
  const sealer = await open();
  const sealed = await sealer.seal('secret', 'a');
  await asRoot('PUT', 'sys/seal', {});
  await expect(sealer.unseal(sealed, 'a')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('Vault is sealed'),
  });
  await asRoot('PUT', 'sys/unseal', { key: ready.unsealKey });
  await expect(sealer.unseal(sealed, 'a')).resolves.toBe('secret');
});

it('says what is wrong with the settings', async () => {
  const wrongToken = scratch.file('wrong-token');
  await writeFile(wrongToken, 'hvs.none', { mode: 0o600 });
  const cases: [Partial<VaultKeyOptions>, RegExp][] = [
    [{ key: 'none' }, /there is no such key/],
    [{ key: 'signs' }, /of type ecdsa-p256/],
    [{ key: 'leaves' }, /exportable/],
    [{ mount: 'elsewhere' }, /403|no handler/],
    [{ tokenFile: wrongToken }, /403/],
    [{ caPem: undefined }, /does not serve the master key/],
  ];
  for (const [overrides, message] of cases) await expect(open(overrides)).rejects.toThrow(message);
});
