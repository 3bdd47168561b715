// @tier full: needs root, Debian's packages and a real node; `tools/stack/chart` renders the profile and runs its two Jobs
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LONGEST_NODE_MS } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChartWorld, type ChartWorld } from './world.js';

const START_MS = 300_000;
const INSTALL_MS = 480_000;

let world: ChartWorld;
beforeAll(async () => {
  world = await startChartWorld();
}, START_MS + LONGEST_NODE_MS);
afterAll(() => world?.[Symbol.asyncDispose](), START_MS);

const PODS = ['api', 'gateway', 'gitops', 'keys', 'nats', 'postgres', 'registration'];

async function readyPods(): Promise<string[]> {
  const { items } = JSON.parse(await world.kubectl('get', 'pods', '-o', 'json')) as {
    items: { metadata: { labels: Record<string, string> }; status: { containerStatuses?: { ready: boolean }[] } }[];
  };
  const ready = items.filter(({ status }) => status.containerStatuses?.every((each) => each.ready));
  return ready.map(({ metadata }) => metadata.labels['app.kubernetes.io/name'] ?? '').toSorted();
}

const uidOf = (secret: string): Promise<string> =>
  world.kubectl('get', 'secret', secret, '-o', 'jsonpath={.metadata.uid} {.metadata.resourceVersion}');

describe('the profile single on a real node', () => {
  it('is up after one command, in a namespace that admits restricted pods only', { timeout: INSTALL_MS }, async () => {
    await world.helm('install');
    expect(await readyPods()).toEqual(PODS);
  });

  it('lets an administrator in, with what the README says', async () => {
    const root = await world.kubectl(
      'exec',
      'deploy/fairlead-api',
      '-c',
      'main',
      '--',
      'node',
      'apps/api/dist/bundle/main.js',
      'serving-root',
    );
    await writeFile(join(world.dir, 'root.pem'), /-----BEGIN[^]*END CERTIFICATE-----\n/.exec(root)?.[0] ?? '');
    const token = await world.kubectl('get', 'secret', 'fairlead-registration', '-o', 'jsonpath={.data.admin-token}');
    await writeFile(join(world.dir, 'token'), Buffer.from(token, 'base64'), { mode: 0o600 });
    const files = ['--ca-file', join(world.dir, 'root.pem'), '--token-file', join(world.dir, 'token')];
    await world.fairlead('login', '--server', world.apiUrl, ...files);
    await world.fairlead('cluster', 'create', 'shop');
    expect(await world.fairlead('cluster', 'list')).toMatch(/^shop +not imported/m);
    expect(await world.fairlead('cluster', 'import', 'shop')).toContain('localhost/fairlead/agent:1');
  });

  it(
    'is upgraded by one more gateway, keeps its Secrets, and replaces pods by hand',
    { timeout: INSTALL_MS },
    async () => {
      const [keys, first] = [await uidOf('fairlead-keys'), await uidOf('fairlead-gateway-a')];
      await world.helm('upgrade', '--set', 'gateways[0].name=a', '--set', 'gateways[1].name=b');
      await world.kubectl('wait', '--for=condition=Ready', '--timeout=120s', 'pod/fairlead-gateway-b-0');
      expect([await uidOf('fairlead-keys'), await uidOf('fairlead-gateway-a')]).toEqual([keys, first]);
      await world.kubectl('delete', 'pod', 'fairlead-gateway-a-0');
      await world.kubectl('wait', '--for=create', '--timeout=60s', 'pod/fairlead-gateway-a-0');
      await world.kubectl('wait', '--for=condition=Ready', '--timeout=300s', 'pod/fairlead-gateway-a-0');
      // State is kept: NATS began anew with the rights of one gateway more.
      expect(await world.fairlead('cluster', 'list')).toMatch(/^shop /m);
      expect(await readyPods()).toEqual([...PODS, 'gateway'].toSorted());
    },
  );
});
