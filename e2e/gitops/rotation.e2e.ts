// @tier full: rotations while commits arrive; libs/gitops/key-rotation and libs/keys/deploy-keys show each step
import type { ClusterGitOps, GitHost } from '@fairlead/contracts';
import { parseSshPublicKey } from '@fairlead/git-hosts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Finder } from '../support/secret-scan/finder.js';
import { secretScan } from '../support/secret-scan/index.js';
import { SecretRegistry } from '../support/secret-scan/registry.js';
import { sessionIdsOf } from '../support/test-stack.js';
import { greeting, greets, push } from './support/catalog.js';
import { everyObject } from './support/every-object.js';
import { watchFetches, type FetchWatch } from './support/fetch-watch.js';
import { GIT_HOST, becomesHealthy, putGitHost, setUp, status } from './support/follow.js';
import { startRecordedLink, type RecordedLink } from './support/recorded-link.js';
import { startWorld, type World } from './support/world.js';

let link: RecordedLink;
let world: World;
let fetches: FetchWatch;
/** Of the Git host: all that the control plane ever had. */
const tokens = new SecretRegistry();
/** What an agent has to say, and what it has to be told, for any of this to work. */
const saidUp = new SecretRegistry();
const saidDown = new SecretRegistry();

beforeAll(async () => {
  link = await startRecordedLink();
  world = await startWorld({ ...link.options, withGitFront: true });
  link.leadTo(world.stack);
  tokens.add('the token of the Git host', world.gitToken);
  await setUp(world);
  await becomesHealthy(world);
  fetches = await watchFetches(world);
});
afterAll(async () => {
  await fetches?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
  await link?.[Symbol.asyncDispose]();
});

/** One commit, until it is there. */
async function sync(text: string): Promise<void> {
  await push(world, 'from-git.yaml', greeting('from-git', text));
  await greets(world, 'from-git', text);
}

/** Commits, one after the other, until the work is done. Resolves to how many of them the cluster got. */
async function syncing(name: string, work: Promise<unknown>): Promise<number> {
  const over = new AbortController();
  const done = work.finally(() => over.abort());
  let synced = 0;
  do {
    await sync(`${name} ${synced}`);
    synced += 1;
  } while (!over.signal.aborted);
  await done;
  return synced;
}

/** Notes the public halves of the keys that are in use: they are not secret, and they cross the link. */
async function noteKeys(): Promise<void> {
  const { report, wish } = await status(world, () => undefined);
  for (const { number, publicKey } of report?.publicKeys ?? []) saidUp.add(`deploy key ${number}`, endOf(publicKey));
  for (const { type, key } of wish?.source?.knownHosts ?? []) saidDown.add(`the ${type} key of the host`, endOf(key));
}

/** All keys of a type begin alike. */
const endOf = (key: string): string => key.slice(-40);

it('the token of the Git host is replaced, and nothing in the cluster notices', async () => {
  await noteKeys();
  const next = await world.gitea.token('write:repository');
  tokens.add('the next token of the Git host', next);
  secretScan.issued.add('the next token of the Git host', next);
  await putGitHost(world, next);
  await world.gitea.revoke(world.gitToken);
  await sync('with the next token');
  expect(fetches.failures).toEqual([]);
});

// With the token that there is now: the key is added and removed with it.
it('a deploy key is replaced while commits arrive: no fetch fails, and the old one leaves the Git host', async () => {
  const before = await world.gitea.idsOnHost();
  const rotated = async (): Promise<void> => {
    await world.api.ask<ClusterGitOps>('POST', '/v1/clusters/demo/gitops/deploy-key-rotation');
    await status(world, ({ report, wish }) => {
      expect(wish?.deployKey).toMatchObject({ current: 2, next: null });
      expect(report?.publicKeys).toMatchObject([{ number: 2, works: true }]);
    });
    await eventually(async () => expect(await world.gitea.idsOnHost()).toHaveLength(1), { timeoutMs: 60_000 });
  };
  expect(await syncing('key rotation', rotated())).toBeGreaterThan(0);
  await sync('with the new key');
  await noteKeys();
  expect(await world.gitea.idsOnHost()).not.toEqual(before);
  expect(fetches.failures).toEqual([]);
  expect(fetches.good).toBeGreaterThan(0);
});

// Of another type: until golang.org/x/crypto 0.46, what Flux is built with believed one key of each type, the first.
it('a host key is replaced while commits arrive: known before it is used, it is never refused', async () => {
  const next = world.gitea.announceHostKey();
  const { hostKeys } = await world.api.ask<GitHost>('GET', `/v1/git-hosts/${GIT_HOST}`);
  const approved = hostKeys.filter(({ state }) => state === 'approved').map(({ fingerprint }) => fingerprint);
  const approve = (fingerprints: readonly string[], keys: readonly string[]): Promise<GitHost> =>
    world.api.ask('POST', `/v1/git-hosts/${GIT_HOST}/host-keys/approval`, { fingerprints, keys });
  const announced = async (): Promise<void> => {
    const { publicKey } = next;
    await approve([...approved, fingerprintOf(publicKey)], [publicKey]);
    await status(world, ({ wish, revision, report }) => {
      expect(wish?.source?.knownHosts).toHaveLength(2);
      expect(report?.appliedRevision).toBe(revision);
    });
  };
  await syncing('announcement', announced());
  const front = world.gitFront!;
  await front.whileNobodyIsServed(async () => {
    await next.use();
    // Flux is asked every few seconds whether it works: it came, and finds the new key once it is let in.
    await eventually(() => expect(front.kept).toBeGreaterThan(1));
  });
  await sync('with the new host key');
  await approve([fingerprintOf(next.publicKey)], []);
  await status(world, ({ wish, revision, report }) => {
    expect(wish?.source?.knownHosts).toHaveLength(1);
    expect(report?.appliedRevision).toBe(revision);
  });
  await sync('without the old host key');
  await noteKeys();
  expect(fetches.failures).toEqual([]);
});

it('no token of the Git host is in any object of the cluster', async () => {
  const objects = await everyObject(world);
  const found = [...objects].filter(([, text]) => search([Buffer.from(text)], tokens).length > 0);
  expect(found.map(([kind]) => kind)).toEqual([]);
  expect([...objects.keys()]).toEqual(expect.arrayContaining(['secrets', 'configmaps', 'events', 'pods']));
  // What it would be found by: a secret that is there.
  expect(search([Buffer.from(objects.get('secrets') ?? '')], saidUp)).toContain('deploy key 2');
});

it('no token of the Git host ever crossed the link: enrolment, install, and every rotation', async () => {
  const said = await link.read();
  expect(search([...said.up, ...said.down, ...said.beside], tokens)).toEqual([]);
  // It was the whole of it: all of its life, the link that there is now, what was installed from it.
  const calls = ['Discover', 'Enrol', 'Control', 'FetchBundle'].map(
    (name) => `/fairlead.link.v1.AgentLinkService/${name}`,
  );
  expect([...said.calls]).toEqual(expect.arrayContaining(calls));
  const [session = 'no link'] = await sessionIdsOf(world.stack.gateways[0]?.healthUrl ?? '');
  expect(said.down.some((text) => text.includes(session))).toBe(true);
  expect([...said.bundles]).toEqual([(await status(world, () => undefined)).wish?.bundle.digest]);
  expect(said.connections).toBeGreaterThanOrEqual(3);
  expect(said.wireBytes).toBeGreaterThan(50_000);
  // What it would be found by: what has to be there, before and after each rotation.
  expect(search(said.up, saidUp)).toEqual(['deploy key 1', 'deploy key 2']);
  expect(search(said.down, saidDown)).toEqual(['the ssh-ed25519 key of the host', 'the ssh-rsa key of the host']);
});

it('a deploy key that counts as compromised leaves the Git host at once; what runs stays, and is followed on with the next key', async () => {
  const { wish } = await status(world, ({ report }) => expect(report?.publicKeys).toMatchObject([{ works: true }]));
  const number = wish?.deployKey.current ?? 0;
  const before = await world.gitea.idsOnHost();
  await sync('before the compromise');
  await world.api.ask<ClusterGitOps>('POST', '/v1/clusters/demo/gitops/deploy-key-rotation?reason=compromise');
  await eventually(async () => expect(await world.gitea.idsOnHost()).not.toContain(before[0]), { timeoutMs: 60_000 });
  await greets(world, 'from-git', 'before the compromise');
  await status(world, ({ report, wish: now, deployKey, health }) => {
    expect(now).toMatchObject({ suspend: false, deployKey: { current: number + 1, next: null } });
    expect(report?.publicKeys).toMatchObject([{ number: number + 1, works: true }]);
    expect(deployKey).toMatchObject({ number: number + 1, rotating: null, withdrawing: [] });
    expect(health).toBe('healthy');
  });
  expect(await world.gitea.idsOnHost()).toHaveLength(1);
  await sync('after the compromise');
});

/** As ssh-keygen shows it. */
const fingerprintOf = (publicKey: string): string => parseSshPublicKey(publicKey)?.fingerprint ?? '';

/** Names of those that are there, however they are written. */
function search(texts: readonly Buffer[], wanted: SecretRegistry): string[] {
  const finder = new Finder(wanted.names);
  const found = new Set(texts.flatMap((text) => [...finder.find(text)]));
  return [...new Set(wanted.names.values())].filter((name) => found.has(name));
}
