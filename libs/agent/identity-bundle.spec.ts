import { randomUUID } from 'node:crypto';
import { createLogger, silentLogger } from '@fairlead/observability';
import { testAuthority, type TestAuthority } from '@fairlead/testing';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { identityStore, type AgentIdentity, type IdentityStore } from './agent-identity.js';
import { withBundle } from './identity-bundle.js';

const CLUSTER = randomUUID();
let ours: TestAuthority;
let kept: Record<string, string>;
let text: string | null;
let logged: string[];
let store: IdentityStore;
let ofCluster: (clusterId: string | undefined) => IdentityStore;

beforeAll(async () => {
  ours = await testAuthority();
});
beforeEach(() => {
  kept = {};
  text = null;
  logged = [];
  const write = (values: Readonly<Record<string, string>>): Promise<void> => {
    Object.assign(kept, values);
    return Promise.resolve();
  };
  const inner = identityStore({ read: () => Promise.resolve({ values: kept }), write });
  const logger = createLogger('agent', 'debug', { write: (line: string) => void logged.push(line) });
  ofCluster = (clusterId) => withBundle(inner, { read: () => Promise.resolve(text), logger, clusterId });
  store = ofCluster(undefined);
});

async function identity(generation: number, clusterId = CLUSTER, notBefore?: Date): Promise<AgentIdentity> {
  const { privateKeyPem, chain } = await ours.agent(clusterId, { generation, ...(notBefore ? { notBefore } : {}) });
  return {
    clusterId,
    generation,
    trustDomain: 'fairlead.local',
    keyPem: privateKeyPem,
    chainPem: [...chain],
    rootsPem: [...ours.roots],
    trustVersion: 0,
  };
}

const bundleOf = (one: AgentIdentity): string =>
  JSON.stringify({ kind: 'fairlead-identity-bundle', version: 1, cluster: 'demo', endpoints: [], identity: one });
const keep = (one: AgentIdentity): string => (kept['identity'] = JSON.stringify(one));
const events = (): unknown[] => logged.map((line) => (JSON.parse(line) as { event: string }).event);

it('is taken up where there is no identity, and kept', async () => {
  expect(await store.load()).toEqual({ identity: null, pending: null });
  const first = await identity(1);
  text = bundleOf(first);
  expect((await store.load()).identity).toEqual(first);
  text = null;
  expect((await store.load()).identity).toEqual(first);
  expect(events()).toEqual(['agent.bundle.taken_up']);
  expect(logged.join()).not.toContain('PRIVATE KEY');
});

it('of a newer enrolment goes before what is stored; of the same or an older one it does not', async () => {
  const second = await identity(2);
  keep(second);
  for (const generation of [1, 2]) {
    text = bundleOf(await identity(generation));
    expect((await store.load()).identity).toEqual(second);
  }
  const third = await identity(3);
  text = bundleOf(third);
  expect((await store.load()).identity).toEqual(third);
  expect(events()).toEqual(['agent.bundle.taken_up']);
});

it('of another cluster counts if it was certified later', async () => {
  const stored = await identity(7, randomUUID(), new Date('2026-01-02T00:00:00Z'));
  keep(stored);
  text = bundleOf(await identity(1, CLUSTER, new Date('2026-01-01T00:00:00Z')));
  expect((await store.load()).identity).toEqual(stored);
  const later = await identity(1, CLUSTER, new Date('2026-01-03T00:00:00Z'));
  text = bundleOf(later);
  expect((await store.load()).identity).toEqual(later);
});

it('of another cluster than the manifest is refused, and says what to do', async () => {
  store = ofCluster(CLUSTER);
  const other = await identity(9, randomUUID());
  text = bundleOf(other);
  const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining(other.clusterId) as string };
  await expect(store.load()).rejects.toMatchObject(refused);
  await expect(store.load()).rejects.toThrow(/issue one of that cluster, or apply the manifest/);
  // Also where it was certified later than what is stored.
  const stored = await identity(1, CLUSTER, new Date('2026-01-01T00:00:00Z'));
  keep(stored);
  expect((await store.load()).identity).toEqual(stored);
  expect(events()).toEqual(['agent.bundle.refused']);
});

it('of the manifest’s cluster goes before an identity of any other, whenever that was certified', async () => {
  store = ofCluster(CLUSTER);
  keep(await identity(7, randomUUID(), new Date('2026-01-02T00:00:00Z')));
  const own = await identity(1, CLUSTER, new Date('2026-01-01T00:00:00Z'));
  text = bundleOf(own);
  expect((await store.load()).identity).toEqual(own);
});

it('brings no version of the trust bundle that nobody takes, and nothing to count newer ones from', async () => {
  const one = await identity(1);
  text = bundleOf({ ...one, trustVersion: 999_999 });
  await expect(store.load()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  text = bundleOf({ ...one, trustVersion: 3, trustSince: { version: 3, atMs: 0 } });
  expect((await store.load()).identity).toEqual({ ...one, trustVersion: 3 });
});

it('that cannot be used is refused, without a word of what is in it', async () => {
  const [one, other] = [await identity(1), await identity(1)];
  const bad = [
    '{',
    JSON.stringify({ identity: one }),
    bundleOf({ ...one, keyPem: other.keyPem }),
    bundleOf({ ...one, generation: 2 }),
    bundleOf({ ...one, clusterId: randomUUID() }),
    bundleOf({ ...one, chainPem: ['-----BEGIN CERTIFICATE-----'] }),
  ];
  for (const each of bad) {
    text = each;
    const refused = await store.load().then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(JSON.stringify(refused)).not.toContain('PRIVATE KEY');
  }
  expect(kept).toEqual({});
  // An agent that has an identity is not stopped by a file.
  keep(other);
  expect((await store.load()).identity).toEqual(other);
  expect(events()).toEqual(['agent.bundle.refused']);
});

it('is only looked at by who only looks', async () => {
  const first = await identity(1);
  const looking = withBundle(store, {
    read: () => Promise.resolve(bundleOf(first)),
    logger: silentLogger,
    readOnly: true,
  });
  expect((await looking.load()).identity).toEqual(first);
  expect(kept).toEqual({});
});
