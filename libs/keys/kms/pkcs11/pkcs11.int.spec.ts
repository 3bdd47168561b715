// @process own: it loads SoftHSM, which begins once in a process, with one configuration
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { masterKeyFrom, type KeySource } from '../../store/master-key.js';
import type { Sealer } from '../../store/sealer.js';
import { SoftToken } from '../../testing/soft-token.js';
import { masterKeyInToken, type TokenKeyOptions } from './master-key-in-token.js';

const run = promisify(execFile);
const refused = { code: 'INVALID_ARGUMENT' };
const away = { code: 'UNAVAILABLE' };

let scratch: ScratchDir;
let token: SoftToken;
const before = process.env['SOFTHSM2_CONF'];

beforeAll(async () => {
  scratch = await scratchDir();
  token = await SoftToken.create(scratch, 'first', 'second');
  process.env['SOFTHSM2_CONF'] = token.configFile;
});
afterAll(async () => {
  if (before === undefined) delete process.env['SOFTHSM2_CONF'];
  else process.env['SOFTHSM2_CONF'] = before;
  await scratch?.[Symbol.asyncDispose]();
});

function inToken(overrides: Partial<TokenKeyOptions> = {}): KeySource {
  const { modulePath, label: tokenLabel, pinFile } = token;
  return masterKeyInToken({ modulePath, tokenLabel, pinFile, keyLabel: 'first', deadlineMs: 20_000, ...overrides });
}

const open = (overrides: Partial<TokenKeyOptions> = {}): Promise<Sealer> =>
  masterKeyFrom(inToken(overrides)).open(false);

/** Of the processes that this one started and that have a token. */
async function workers(): Promise<number[]> {
  // It ends with 1 where there is none.
  const { stdout } = await run('pgrep', ['-P', String(process.pid), '-f', 'token-worker']).catch(() => ({
    stdout: '',
  }));
  return stdout.split('\n').filter(Boolean).map(Number);
}

async function killWorkers(): Promise<void> {
  for (const pid of await workers()) process.kill(pid, 'SIGKILL');
  await eventually(async () => expect(await workers()).toEqual([]));
}

it('seals with a key that stays in the token, and opens with the same token, key, context and bytes only', async () => {
  const sealer = await open();
  await expect(sealer.current()).resolves.toBe('pkcs11:token=fairlead%20test;object=first');
  const sealed = await sealer.seal('secret', 'a:root');
  expect(sealed.toString('latin1')).not.toContain('secret');
  await expect(sealer.unseal(sealed, 'a:root')).resolves.toBe('secret');
  await expect(sealer.unseal(sealed, 'b:root')).rejects.toMatchObject(refused);
  const wrapped = 2 + (await sealer.current()).length + 2;
  for (let at = 0; at < wrapped + 60; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expect(sealer.unseal(changed, 'a:root'), `byte ${at}`).rejects.toMatchObject(refused);
  }
  // The other key of the token is the master key now; the first one still opens its own.
  const later = await open({ keyLabel: 'second' });
  await expect(later.unseal(sealed, 'a:root')).resolves.toBe('secret');
  expect((await later.seal('secret', 'a')).toString('latin1')).toContain('object=second');
});

it('has the token bind each data key to its context', async () => {
  const key = await inToken().open(false);
  const dataKey = randomBytes(32);
  const wrapped = await key.wrap(dataKey, 'a');
  expect(Buffer.from(wrapped.bytes).includes(dataKey)).toBe(false);
  await expect(key.unwrap(wrapped, 'a')).resolves.toEqual(dataKey);
  await expect(key.unwrap(wrapped, 'b')).rejects.toMatchObject(refused);
});

it('goes on after its process died, and after the token was away', async () => {
  const sealer = await open();
  const sealed = await sealer.seal('secret', 'a');
  await killWorkers();
  await expect(sealer.unseal(sealed, 'a')).resolves.toBe('secret');
  await rename(token.tokensDir, `${token.tokensDir}.away`);
  await killWorkers();
  await expect(sealer.unseal(sealed, 'a')).rejects.toMatchObject(away);
  await rename(`${token.tokensDir}.away`, token.tokensDir);
  await expect(sealer.unseal(sealed, 'a')).resolves.toBe('secret');
});

it('waits for a module that hangs no longer than the deadline, blocks nobody meanwhile, and begins anew', async () => {
  // Whoever loads it waits in the system's call for somebody who writes into it.
  const modulePath = scratch.file('module.so');
  await run('mkfifo', [modulePath]);
  const key = inToken({ modulePath, deadlineMs: 6_000 });
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 20);
  const began = performance.now();
  const calls = await Promise.allSettled(Array.from({ length: 3 }, () => key.open(false)));
  clearInterval(ticking);
  expect(calls.map((call) => (call.status === 'rejected' ? call.reason : call))).toMatchObject([away, away, away]);
  expect(performance.now() - began).toBeLessThan(11_000);
  expect(turns).toBeGreaterThan(20);
  await unlink(modulePath);
  await symlink(token.modulePath, modulePath);
  // A process may take longer to start on a busy machine.
  const opened = await eventually(() => key.open(false));
  expect((await eventually(() => opened.wrap(randomBytes(32), 'a'))).bytes.length).toBe(60);
});

it('tries a PIN that was refused no second time, until its file changes', async () => {
  const pinFile = scratch.file('wrong-pin');
  await writeFile(pinFile, 'not the PIN', { mode: 0o600 });
  const { modulePath, label: tokenLabel } = token;
  const source = masterKeyInToken({ modulePath, tokenLabel, pinFile, keyLabel: 'first' });
  await expect(source.open(false)).rejects.toThrow(/the PIN is another one/);
  await expect(source.open(false)).rejects.toThrow(/not tried again/);
  await writeFile(pinFile, token.pin);
  const key = await source.open(false);
  await expect(key.current()).resolves.toContain('object=first');
  await chmod(pinFile, 0o644);
  await expect(open({ pinFile })).rejects.toThrow(/chmod 600/);
});

it('says what is wrong with the settings', async () => {
  await token.addKey('short', 9, 16);
  await token.addKey('twice', 10);
  await token.addKey('twice', 11);
  token.addExtractableKey('leaves');
  const cases: [Partial<TokenKeyOptions>, RegExp][] = [
    [{ modulePath: scratch.file('none.so') }, /none\.so/],
    [{ tokenLabel: 'another' }, /no slot has a token with the label another/],
    [{ keyLabel: 'none' }, /no AES key with the label none/],
    [{ keyLabel: 'short' }, /256 bits/],
    [{ keyLabel: 'twice' }, /several AES keys/],
    [{ keyLabel: 'leaves' }, /may leave the token/],
    [{ pinFile: scratch.file('none') }, /FAIRLEAD_PKCS11_PIN_FILE/],
  ];
  for (const [overrides, message] of cases) await expect(open(overrides)).rejects.toThrow(message);
});
