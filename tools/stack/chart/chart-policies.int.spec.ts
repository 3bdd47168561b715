// Who may reach whom: each pair of the tables, by what the chart renders. What enforces policies in a cluster is not ours.
import { ROLES, type Role } from '@fairlead/contracts';
import { beforeAll, describe, expect, it } from 'vitest';
import { mayReach, type Place } from './reach.js';
import { NAMESPACE, PROFILES, resourceOf, resourcesOf, type Resource } from './render-chart.js';

const pod = (name: string, namespace = NAMESPACE, labels: Place['labels'] = {}): Place => ({
  namespace,
  labels: { 'app.kubernetes.io/name': name, ...labels },
  address: '10.244.0.7',
});
const ours = (name: string): Place => pod(name, NAMESPACE, { 'app.kubernetes.io/part-of': 'fairlead' });

const NATS_CHART = pod('nats');
const CLOUD_NATIVE_PG = pod('cloudnative-pg', NAMESPACE, { 'cnpg.io/podRole': 'instance' });
const FOREIGN = pod('something', 'elsewhere');
const NEIGHBOUR = pod('something');
const INTERNET: Place = { labels: {}, address: '203.0.113.9' };
const METADATA: Place = { labels: {}, address: '169.254.169.254' };
const APISERVER: Place = { labels: {}, address: '10.96.0.1' };
const DNS = pod('coredns', 'kube-system');
const COLLECTOR = pod('otel-collector', 'observability');

const ALL = Object.fromEntries(ROLES.map((role) => [role, ours(role)])) as Readonly<Record<Role, Place>>;
const { access, api, audit, gateway, gitops, keys, registration } = ALL;

type Pair = readonly [from: Place, to: Place, port: number];

const NEEDED: Readonly<Record<string, Pair>> = {
  'people to the admin API': [INTERNET, api, 7070],
  'people to the Kubernetes API door': [INTERNET, gateway, 7443],
  'agents to gateways': [INTERNET, gateway, 7444],
  'programs to the CONNECT door': [FOREIGN, gateway, 7447],
  'gateways to each other': [gateway, gateway, 7445],
  'keys to a Git host inside': [keys, { labels: {}, address: '10.9.9.9' }, 22],
  'access to issuers': [access, INTERNET, 443],
  'gitops to bundles': [gitops, INTERNET, 443],
  'audit to webhooks': [audit, INTERNET, 443],
  'Prometheus to keys': [FOREIGN, keys, 8080],
  ...Object.fromEntries(Object.entries(ALL).map(([name, from]) => [`${name} to DNS`, [from, DNS, 53]])),
};

const FORBIDDEN: Readonly<Record<string, Pair>> = {
  'a foreign pod to the relay': [FOREIGN, gateway, 7445],
  'a neighbour to the relay': [NEIGHBOUR, gateway, 7445],
  'api to the relay': [api, gateway, 7445],
  'api to registration': [api, registration, 7070],
  'a gateway out': [gateway, INTERNET, 443],
  'a gateway to the kube-apiserver': [gateway, APISERVER, 443],
  'a gateway to a collector that nobody named': [gateway, COLLECTOR, 4318],
  'access to what clouds tell their machines': [access, METADATA, 443],
  'audit to a private network': [audit, { labels: {}, address: '10.9.9.9' }, 443],
  'access to anything else': [access, INTERNET, 5432],
  'registration out': [registration, INTERNET, 443],
  'api to the kube-apiserver': [api, APISERVER, 443],
  'gitops to a private network': [gitops, { labels: {}, address: '10.9.9.9' }, 443],
  'keys to what clouds tell their machines': [keys, METADATA, 443],
  'keys to anything else': [keys, INTERNET, 5432],
  'anybody to DNS elsewhere': [registration, INTERNET, 53],
};

const SERVERS = {
  production: { nats: NATS_CHART, postgres: CLOUD_NATIVE_PG },
  single: { nats: ours('nats'), postgres: ours('postgres') },
};

describe.each(['production', 'single'] as const)('the policies of %s', (profile) => {
  const { nats, postgres } = SERVERS[profile];
  let resources: readonly Resource[];
  beforeAll(async () => {
    resources = await resourcesOf(profile);
  });

  it.each(Object.entries(NEEDED))('let %s', (_what, [from, to, port]) => {
    expect(mayReach(resources, from, to, port)).toBe(true);
  });

  it.each(Object.entries(FORBIDDEN))('do not let %s', (_what, [from, to, port]) => {
    expect(mayReach(resources, from, to, port)).toBe(false);
  });

  it.each(Object.entries(ALL))(
    'let %s to NATS, and to Postgres if it has a schema, in the same namespace',
    (name, from) => {
      expect(mayReach(resources, from, nats, 4222)).toBe(true);
      // By hand: the chart is made of the table.
      expect(mayReach(resources, from, postgres, 5432)).toBe(
        ['access', 'audit', 'gitops', 'keys', 'registration'].includes(name),
      );
    },
  );
});

describe('the policies of single', () => {
  let resources: readonly Resource[];
  beforeAll(async () => {
    resources = await resourcesOf('single');
  });
  const { nats, postgres } = SERVERS.single;

  it.each<[string, Pair]>([
    ['a foreign pod to NATS', [FOREIGN, nats, 4222]],
    ['a neighbour to NATS', [NEIGHBOUR, nats, 4222]],
    ['a neighbour to Postgres', [NEIGHBOUR, postgres, 5432]],
    ['a neighbour with the name of one of ours to Postgres', [pod('keys'), postgres, 5432]],
    ['Postgres out', [postgres, INTERNET, 443]],
    ['NATS out', [nats, INTERNET, 443]],
    ['NATS to Postgres', [nats, postgres, 5432]],
    ['who makes Secrets to NATS', [ours('setup-secrets'), nats, 4222]],
    ['who sets servers up to the kube-apiserver', [ours('setup-servers'), APISERVER, 443]],
    ['who makes Secrets out', [ours('setup-secrets'), INTERNET, 5432]],
    ['anybody to who makes Secrets', [NEIGHBOUR, ours('setup-secrets'), 443]],
  ])('do not let %s', (_what, [from, to, port]) => {
    expect(mayReach(resources, from, to, port)).toBe(false);
  });

  it('let the one who makes Secrets to the kube-apiserver, and the one who sets servers up to both', () => {
    expect(mayReach(resources, ours('setup-secrets'), APISERVER, 443)).toBe(true);
    expect(mayReach(resources, ours('setup-servers'), nats, 4222)).toBe(true);
    expect(mayReach(resources, ours('setup-servers'), postgres, 5432)).toBe(true);
  });
});

it.each(PROFILES)(
  'leads nobody to a pod of the namespace that is not ours but has the name of one, in %s',
  async (profile) => {
    const services = (await resourcesOf(profile)).filter(({ kind }) => kind === 'Service');
    expect(services.length).toBeGreaterThan(2);
    for (const { metadata, spec } of services)
      expect([metadata.name, spec?.['selector']]).toEqual([
        metadata.name,
        expect.objectContaining({ 'app.kubernetes.io/part-of': 'fairlead' }),
      ]);
  },
);

it('has the policy of who makes Secrets there before it, as only hooks are', async () => {
  const resources = await resourcesOf('single');
  const [policy, job] = [
    resourceOf(resources, 'NetworkPolicy', 'setup-secrets'),
    resourceOf(resources, 'Job', 'fairlead-setup-secrets'),
  ].map((resource) => resource?.metadata.annotations ?? {});
  expect(policy?.['helm.sh/hook']).toBe(job?.['helm.sh/hook']);
  expect(Number(policy?.['helm.sh/hook-weight'])).toBeLessThan(Number(job?.['helm.sh/hook-weight']));
});

it('closes the port for health and metrics to all but who is named', async () => {
  const peers = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'observability' } } }];
  const resources = await resourcesOf('production', { networkPolicies: { health: { peers } } });
  expect(mayReach(resources, COLLECTOR, keys, 8080)).toBe(true);
  expect(mayReach(resources, FOREIGN, keys, 8080)).toBe(false);
});

it('leaves pods that are not ours alone', async () => {
  const resources = await resourcesOf('production');
  expect(mayReach(resources, CLOUD_NATIVE_PG, APISERVER, 443)).toBe(true);
  expect(mayReach(resources, NATS_CHART, NATS_CHART, 6222)).toBe(true);
});

it('lets out to NATS and Postgres where the values say they are, and no more to where the defaults are', async () => {
  const resources = await resourcesOf('production', {
    nats: { peers: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'messaging' } } }] },
    postgres: { peers: [{ ipBlock: { cidr: '10.20.0.7/32' } }] },
  });
  expect(mayReach(resources, api, pod('nats', 'messaging'), 4222)).toBe(true);
  expect(mayReach(resources, keys, { labels: {}, address: '10.20.0.7' }, 5432)).toBe(true);
  expect(mayReach(resources, api, NATS_CHART, 4222)).toBe(false);
  expect(mayReach(resources, keys, CLOUD_NATIVE_PG, 5432)).toBe(false);
});
