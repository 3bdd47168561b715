import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { cliScene } from './testing/logged-in.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAKER = join(ROOT, 'tools', 'image', 'command.mjs');
const HERE = `${process.platform}-${process.arch}`;

const scene = cliScene();
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
let release: ScratchDir;

beforeAll(async () => {
  release = await scratchDir();
  const signing = release.file('key.pem');
  await writeFile(signing, key.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await run(process.execPath, [MAKER, '--out', release.path, '--sign-with', signing]);
}, 240_000);
afterAll(() => release[Symbol.asyncDispose]());

describe('the command as a single file', () => {
  it('runs where there is no Node, and knows its version', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'apps', 'cli', 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(await command(['version'])).toBe(`fairlead ${version}\n`);
    expect(await command(['--help'])).toContain('A first tour:');
  });

  it('names itself in a kubeconfig, and gives kubectl the token', async () => {
    const { api, caFile } = scene;
    const token = scene.scratch.file('token');
    await writeFile(token, api.script.token);
    await command(['login', '--server', api.url, '--ca-file', caFile, '--token-file', token]);
    await command(['cluster', 'create', 'demo']);
    const args = ['credential', '--server', api.url];
    expect(parse(await command(['kubeconfig', 'demo']))).toMatchObject({
      users: [{ user: { exec: { command: file(), args: [...args, '--cluster', 'demo'] } } }],
    });
    expect(JSON.parse(await command(args))).toMatchObject({ status: { token: api.script.token } });
  });

  it('takes no options of Node from its surroundings', async () => {
    const shown = await command(['version'], { NODE_OPTIONS: '--require=/nowhere.js' });
    expect(shown).toMatch(/^fairlead /);
  });

  it('stands among digests that whoever has the key has signed', async () => {
    const sums = await readFile(release.file('SHA256SUMS'));
    const signature = Buffer.from(await readFile(release.file('SHA256SUMS.sig'), 'utf8'), 'base64');
    expect(
      verify('sha256', sums, createPublicKey(key.privateKey.export({ type: 'pkcs8', format: 'pem' })), signature),
    ).toBe(true);
    await expect(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'])).resolves.toContain(`fairlead-${HERE}: OK`);
  });
});

describe('what it is made with', () => {
  it('says what it can make from here', async () => {
    const attempt = run(process.execPath, [MAKER, '--out', release.path, '--for', 'sunos-x64']);
    await expect(attempt).rejects.toThrow(/for sunos-x64 this has to run there; from here it makes .*linux-arm64/);
  });
});

const file = (): string => release.file(`fairlead-${HERE}`);

/** With nothing on its PATH. */
function command(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  return run(file(), args, { PATH: '', HOME: scene.scratch.path, FAIRLEAD_HOME: scene.home, ...env });
}

async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd: release.path, env, timeout: 180_000 });
  return stdout;
}
