import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PREFLIGHT_LIMITS } from './preflight/preflight.js';
import { installIn, startTestCluster, type TestCluster } from './testing/cluster.js';
import { bring, bundleOf, handOver, handoverOf, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { smallBundle } from './testing/small-bundle.js';
import { startStandIn } from './testing/stand-in.js';

const bundle = bundleOf(smallBundle());
const parts = new AsyncDisposableStack();
let cluster: TestCluster;
let port: number;
let asked = 0;

beforeAll(async () => {
  cluster = parts.use(await startTestCluster());
  parts.use(startStandIn(cluster.objects));
  const { authority } = cluster;
  const { privateKeyPem, chain } = await authority.serving(['127.0.0.1']);
  const registry = createServer({ key: privateKeyPem, cert: chain.slice(0, 2).join('') }, (_request, answer) => {
    asked += 1;
    answer.writeHead(401).end();
  });
  registry.listen(0, '127.0.0.1');
  await once(registry, 'listening');
  parts.defer(() => void registry.close());
  ({ port } = registry.address() as AddressInfo);
  // The registry is in this process, which may be held up; what was found is not looked at again for minutes.
  const limits = { ...PREFLIGHT_LIMITS, deadlineMs: 30_000 };
  const preflight = { ports: [port, 1], behindProxy: false, caPem: authority.root.certificatePem, limits };
  parts.use(installIn(cluster.objects, authority, { preflight }));
});
afterAll(() => parts.disposeAsync());

/** With its images from there. */
async function spec(revision: number, to: string): Promise<void> {
  const images = { rewrite: [{ from: 'ghcr.io', to }], pullSecret: null };
  await handOver(
    cluster.objects,
    await handoverOf(cluster.authority, stateOf(revision, gitopsSpecOf(bundle, { images }))),
  );
}

it('says which registry it reaches once the images are known, and what is not for it to try', async () => {
  await spec(1, `127.0.0.1:${port}/mirror`);
  await bring(cluster.objects, bundle);
  const report = await cluster.report(({ phase, preflight }) => {
    expect([phase, preflight?.hosts.length]).toEqual(['healthy', 2]);
  });
  expect(report.preflight?.hosts).toEqual([
    {
      kind: 'git',
      host: 'git.example.com:22',
      code: 'NOT_TRIED',
      message: expect.stringContaining('port 22') as string,
    },
    { kind: 'registry', host: `127.0.0.1:${port}`, code: 'REACHABLE', message: '' },
  ]);
  expect(asked).toBe(1);
});

it('installs from a registry that it does not reach, and says so', async () => {
  await spec(2, '127.0.0.1:1/mirror');
  const report = await cluster.report(({ phase, appliedRevision, preflight }) => {
    expect([phase, appliedRevision, preflight?.hosts[1]?.host]).toEqual(['healthy', 2, '127.0.0.1:1']);
  });
  expect(report.preflight?.hosts[1]).toMatchObject({ code: 'UNREACHABLE', message: 'no connection (ECONNREFUSED)' });
  expect(report.problem).toBeNull();
});
