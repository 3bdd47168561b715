import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BUCKETS } from '@fairlead/contracts';
import { connectNats, putKv } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { generatePrivateKey } from '@fairlead/pki';
import { startStack, type Stack } from '@fairlead/stack';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SecretScan } from '../support/secret-scan/index.js';
import { scratchStateDir } from '../support/test-stack.js';

let stateDir: string;
let stack: Stack;
/** Not the one that searches what this file says: here secrets are shown on purpose. */
let scan: SecretScan;
const planted: string[] = [];

beforeAll(async () => {
  stateDir = await scratchStateDir();
  stack = await startStack({ stateDir, basePort: 0, restart: false, durable: false });
  scan = new SecretScan();
});
afterAll(async () => {
  await stack?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

/** A secret of the stack's own, which is remembered as one that was shown. */
async function secretOf(file: string): Promise<string> {
  const secret = (await readFile(join(stateDir, 'secrets', file), 'utf8')).trim();
  planted.push(secret);
  return secret;
}

/** An entry of a bucket, by somebody who may write it. */
async function putIntoBucket(value: string): Promise<void> {
  const connection = await connectNats({
    ...stack.nats,
    seedFile: join(stateDir, 'secrets', 'nats-gateway-a.seed'),
    role: 'gateway',
    credential: 'gateway-a',
    logger: silentLogger,
    signal: AbortSignal.timeout(15_000),
  });
  await putKv(connection, BUCKETS.routes, 'gateway.gateway-a.planted', { value });
  await connection.close();
}

async function annotate(value: string): Promise<void> {
  if ('unavailable' in stack.demo) throw new Error(stack.demo.unavailable);
  const kubeconfig = ['--kubeconfig', stack.demo.adminKubeconfigPath, '--namespace', 'fairlead-system'];
  const { code, stderr } = await stack.kubectl([
    ...kubeconfig,
    'annotate',
    'serviceaccount/fairlead-agent',
    `planted=${value}`,
  ]);
  if (code !== 0) throw new Error(stderr);
}

/** All that a scan of everything found, line by line. */
async function findings(): Promise<string[]> {
  const failed = await scan.finish(stateDir).then(
    () => '',
    (error: unknown) => (error as Error).message,
  );
  return failed.split('\n').slice(1);
}

describe('the search for secrets', () => {
  it('finds one wherever it is shown and however it is written, says what and where, and does not repeat it', async () => {
    const token = await secretOf('admin-token');
    const seed = await secretOf('nats-keys.seed');
    const master = await secretOf('master.key');
    const password = await secretOf('database-keys.password');
    const key = await generatePrivateKey();
    scan.issued.addKey('a key of the test', key);
    await putIntoBucket(Buffer.from(seed).toString('hex'));
    await annotate(Buffer.from(`password=${password};`).toString('base64'));
    const careless = spawn('sleep', ['600'], {
      env: { ...process.env, CARELESS: `x${token.slice(3)}` },
      stdio: 'ignore',
    });
    const link = (await stack.cli(['cluster', 'import', 'demo', '--link'])).stdout.trim();
    await scan.look(stack);
    careless.kill('SIGKILL');
    await once(careless, 'exit');
    scan.hear('an error', JSON.stringify({ error: `cannot read ${key}` }));
    scan.hear('a URL', `GET /import?code=${encodeURIComponent(`a/b ${token}`)}`);
    scan.hear('an access log', `GET ${new URL(link).pathname} 200`);
    await stack.stop();
    await appendFile(join(stateDir, 'logs', 'keys.log'), `{"key":"${Buffer.from(master).toString('base64')}"}\n`);
    const found = await findings();
    const expected = [
      /^an error: a key of the test$/,
      /^an error: a private key in PEM$/,
      /^a URL: secrets\/admin-token$/,
      new RegExp(`^arguments and environment of process ${careless.pid}: secrets/admin-token$`),
      /^an access log: the code of an import link$/,
      /^logs\/keys\.log: secrets\/master\.key$/,
      /^nats\/.*\.blk: secrets\/nats-keys\.seed$/,
      /^kubectl get .*: secrets\/database-keys\.password$/,
      /^kubectl describe .*: secrets\/database-keys\.password$/,
    ];
    for (const each of expected) expect(found).toContainEqual(expect.stringMatching(each));
    // Nothing but what was planted.
    expect(found.filter((line) => !expected.some((each) => each.test(line)))).toEqual([]);
    for (const secret of [...planted, key]) expect(found.join('\n')).not.toContain(secret.slice(0, 16));
  });

  it('refuses to find nothing where it saw nothing', async () => {
    const empty = await scratchStateDir();
    await expect(new SecretScan().finish(empty)).rejects.toThrow(/does not look where it should/);
    await rm(empty, { recursive: true });
  });
});
