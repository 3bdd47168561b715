import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:tls';
import { endsAtOnce, scratchDir } from '@fairlead/testing';
import { beforeAll, expect, it } from 'vitest';
import { brainpoolCertificate } from '../../support/brainpool-certificate.js';
import { sharedStack } from '../../support/shared-stack.js';
import type { TestStack } from '../../support/test-stack.js';

const AGENT = join(import.meta.dirname, '../../../apps/agent/dist/bundle/main.js');

interface Report {
  readonly ok: boolean;
  readonly findings: { check: string; subject: string; ok: boolean; detail: string; remedy?: string }[];
}

let running: TestStack;
/** Of the demo's agent, as it runs. */
let env: Record<string, string>;

beforeAll(async () => {
  running = sharedStack();
  const raw = await readFile(`/proc/${running.stack.process('agent-demo').pid}/environ`, 'utf8');
  // Not the channel to the process that started it, which nobody passes on here.
  const pairs = raw.split('\0').filter((pair) => pair.includes('=') && !pair.startsWith('NODE_CHANNEL_'));
  env = Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
});

async function check(change: Record<string, string> = {}): Promise<Report & { status: number | null }> {
  const child = spawn(process.execPath, [AGENT, 'check', '-o', 'json'], {
    env: { ...env, ...change },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const status = new Promise<number | null>((resolve) => child.once('close', resolve));
  const report = JSON.parse(await text(child.stdout)) as Report;
  return { ...report, status: await status };
}

const failures = ({ findings }: Report): string[] => findings.filter(({ ok }) => !ok).map((each) => each.check);

it('finds all well where an agent runs: its identity, the gateway, the API server, its rights', async () => {
  const report = await check();
  expect(failures(report)).toEqual([]);
  expect([report.status, report.ok]).toEqual([0, true]);
  const checks = new Set(report.findings.map((each) => each.check));
  expect([...checks].sort()).toEqual(['clock', 'dns', 'identity', 'kubernetes', 'pin', 'rights', 'route', 'tls']);
});

it('says what is wrong and what to do, and ends with 1', async () => {
  // Who has an identity goes by the roots that came with it.
  const wrongPins = await check({
    FAIRLEAD_ROOT_PINS: 'ab'.repeat(32),
    FAIRLEAD_BOOTSTRAP_TOKEN_FILE: '/nonexistent',
    FAIRLEAD_IDENTITY: 'file:/nonexistent',
  });
  expect([wrongPins.status, failures(wrongPins)]).toEqual([1, ['token', 'pin', 'pin']]);
  const nobody = await check({ FAIRLEAD_ENDPOINTS: '127.0.0.1:1' });
  expect(failures(nobody)).toEqual(['route']);
  expect(nobody.findings.find(({ ok }) => !ok)?.remedy).toContain('network policies');
  const noServer = await check({ KUBERNETES_SERVICE_PORT: '1' });
  expect(failures(noServer)).toEqual(['identity', 'kubernetes']);
});

it('is not ended by the certificate of the proxy on its way, whatever its key is', async () => {
  await using scratch = await scratchDir();
  const pem = await brainpoolCertificate();
  await writeFile(scratch.file('ca.pem'), pem.slice(pem.indexOf('-----BEGIN CERTIFICATE')));
  const proxy = createServer({ key: pem, cert: pem }, (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
  await using _ends = { [Symbol.asyncDispose]: endsAtOnce(proxy) };
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const report = await check({
    HTTPS_PROXY: `https://localhost:${port}`,
    NODE_EXTRA_CA_CERTS: scratch.file('ca.pem'),
  });
  const failed = report.findings.filter(({ ok }) => !ok);
  expect([report.status, new Set(failed.map((each) => each.check))]).toEqual([1, new Set(['route'])]);
  for (const { detail } of failed) expect(detail).toContain('403');
});

it('names a right that the agent works without, and does not fail for it', async () => {
  const { demo } = running.stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  const patch = JSON.stringify([
    { op: 'test', path: '/rules/2/resources/0', value: 'nodes' },
    { op: 'remove', path: '/rules/2' },
  ]);
  const admin = [
    '--kubeconfig',
    demo.adminKubeconfigPath,
    'patch',
    'clusterrole',
    'fairlead-agent',
    '--type=json',
    '-p',
    patch,
  ];
  expect(await running.stack.kubectl(admin, { timeoutMs: 30_000 })).toMatchObject({ code: 0, stderr: '' });
  const report = await check();
  expect([report.status, report.ok, failures(report)]).toEqual([0, true, []]);
  expect(report.findings.find(({ subject }) => subject === 'list nodes')).toMatchObject({
    check: 'rights',
    detail: expect.stringMatching(/^not allowed: how many nodes.*import manifest/) as string,
  });
});

it('names every right that is missing', async () => {
  const { demo } = running.stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  const admin = ['--kubeconfig', demo.adminKubeconfigPath, 'delete', 'clusterrolebinding', 'fairlead-agent'];
  const { code, stderr } = await running.stack.kubectl(admin, { timeoutMs: 30_000 });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report = await check();
  expect(failures(report)).toEqual(['rights', 'rights', 'rights']);
  expect(report.findings.filter(({ ok }) => !ok).map(({ subject }) => subject)).toEqual([
    'impersonate users',
    'impersonate groups/fairlead:admins',
    'impersonate groups/system:authenticated',
  ]);
});
