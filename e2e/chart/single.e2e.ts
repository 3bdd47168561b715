// @tier full: needs root, Debian's packages and a real node; `tools/stack/chart` renders the profile and runs its two Jobs
import { LONGEST_NODE_MS } from '@fairlead/testbed';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openOf, tcpProbe } from '../support/tcp-probe.js';
import { ELSEWHERE, NAMESPACE, startChartWorld, type ChartWorld } from './world.js';

const START_MS = 300_000;
const INSTALL_MS = 480_000;

let world: ChartWorld;
beforeAll(async () => {
  world = await startChartWorld();
}, START_MS + LONGEST_NODE_MS);
afterAll(() => world?.[Symbol.asyncDispose](), START_MS);

const PODS = ['access', 'api', 'audit', 'gateway', 'gitops', 'keys', 'nats', 'postgres', 'registration'];

async function readyPods(): Promise<string[]> {
  const { items } = JSON.parse(await world.kubectl('get', 'pods', '-o', 'json')) as {
    items: { metadata: { labels?: Record<string, string> }; status: { containerStatuses?: { ready: boolean }[] } }[];
  };
  const ready = items.filter(({ status }) => status.containerStatuses?.every((each) => each.ready));
  return ready.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] ?? 'bystander').toSorted();
}

const uidOf = (secret: string): Promise<string> =>
  world.kubectl('get', 'secret', secret, '-o', 'jsonpath={.metadata.uid} {.metadata.resourceVersion}');

/** Whether a TCP connection comes about, tried in a pod. A policy drops what it does not let through. */
async function reaches(from: readonly string[], host: string, port: number): Promise<boolean> {
  const printed = await world.kubectl('exec', ...from, '-c', 'main', '--', 'node', '-e', tcpProbe([host], port));
  return openOf([host], printed, ['dropped']).length > 0;
}

const [api, keys, registration] = [['deploy/fairlead-api'], ['deploy/fairlead-keys'], ['deploy/fairlead-registration']];
const gateway = ['fairlead-gateway-a-0'];
const neighbour = ['bystander'];
const foreign = ['-n', ELSEWHERE, 'bystander'];
const svc = (name: string): string => `${name}.${NAMESPACE}.svc`;

type Pair = readonly [string, readonly string[], string, number];

const NEEDED: readonly Pair[] = [
  ['api to NATS', api, svc('fairlead-nats'), 4222],
  ['a gateway to NATS', gateway, svc('fairlead-nats'), 4222],
  ['keys to Postgres', keys, svc('fairlead-postgres'), 5432],
  ['registration to Postgres', registration, svc('fairlead-postgres'), 5432],
  ['a gateway to a relay', gateway, svc('fairlead-gateway-relay'), 7445],
  ['a foreign pod to the admin API', foreign, svc('fairlead-api'), 443],
  ['a foreign pod to the Kubernetes API door', foreign, svc('fairlead-gateway'), 7443],
];

const FORBIDDEN: readonly Pair[] = [
  ['api to Postgres', api, svc('fairlead-postgres'), 5432],
  ['a gateway to Postgres', gateway, svc('fairlead-postgres'), 5432],
  ['api to a relay', api, svc('fairlead-gateway-relay'), 7445],
  ['api to the kube-apiserver', api, 'kubernetes.default.svc', 443],
  ['a gateway to the kube-apiserver', gateway, 'kubernetes.default.svc', 443],
  ['registration to the admin API', registration, svc('fairlead-api'), 443],
  ['a neighbour to NATS', neighbour, svc('fairlead-nats'), 4222],
  ['a neighbour to Postgres', neighbour, svc('fairlead-postgres'), 5432],
  ['a foreign pod to NATS', foreign, svc('fairlead-nats'), 4222],
  ['a foreign pod to a relay', foreign, svc('fairlead-gateway-relay'), 7445],
];

describe('the profile single on a real node', () => {
  it('is up after one command, in a namespace that admits restricted pods only', { timeout: INSTALL_MS }, async () => {
    await world.helm('install');
    // Helm waits for no StatefulSet whose pods are replaced by hand.
    await world.kubectl('wait', '--for=condition=Ready', '--timeout=120s', 'pod/fairlead-gateway-a-0');
    expect(await readyPods()).toEqual([...PODS, 'bystander'].toSorted());
    // All of it came up with its policies enforced.
    await world.policies.caughtUp();
  });

  it.each(NEEDED)('lets %s', async (_what, from, host, port) => {
    expect(await reaches(from, host, port)).toBe(true);
  });

  it.each(FORBIDDEN)('does not let %s', async (_what, from, host, port) => {
    expect(await reaches(from, host, port)).toBe(false);
  });

  it('lets an administrator in, with what the README says', async () => {
    await world.login();
    await world.fairlead('cluster', 'create', 'shop');
    expect(await world.fairlead('cluster', 'list')).toMatch(/^shop +never/m);
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
      expect(await readyPods()).toEqual([...PODS, 'bystander', 'gateway'].toSorted());
      await world.policies.caughtUp();
    },
  );

  it('lets a neighbour to NATS once the policies are gone: it was they', async () => {
    await world.kubectl('delete', 'networkpolicy', '--all');
    await world.policies.caughtUp();
    expect(await reaches(neighbour, svc('fairlead-nats'), 4222)).toBe(true);
  });
});
