import type { ClusterGitOps, GitHost } from '@fairlead/contracts';
import { parseSshPublicKey } from '@fairlead/git-hosts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Finder } from '../support/secret-scan/finder.js';
import { SecretRegistry } from '../support/secret-scan/registry.js';
import { greeting, greets, push } from './support/catalog.js';
import { everyObject } from './support/every-object.js';
import { watchFetches, type FetchWatch } from './support/fetch-watch.js';
import { GIT_HOST, becomesHealthy, setUp, status } from './support/follow.js';
import { startWorld, type World } from './support/world.js';

let world: World;
let fetches: FetchWatch;

beforeAll(async () => {
  world = await startWorld();
  await setUp(world);
  await becomesHealthy(world);
  fetches = await watchFetches(world);
});
afterAll(async () => {
  await fetches?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
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
  expect(fetches.failures).toEqual([]);
  // A Git host that changes its key is away for a moment, and says so by refusing connections.
  await next.use();
  await sync('with the new host key');
  await approve([fingerprintOf(next.publicKey)], []);
  await status(world, ({ wish, revision, report }) => {
    expect(wish?.source?.knownHosts).toHaveLength(1);
    expect(report?.appliedRevision).toBe(revision);
  });
  await sync('without the old host key');
  expect(fetches.failures.filter((message) => !/connection refused|EOF|connection reset/.test(message))).toEqual([]);
});

it('the token of the Git host is in no object of the cluster', async () => {
  const tokens = new SecretRegistry();
  tokens.add('the token of the Git host', world.gitToken);
  const finder = new Finder(tokens.names);
  const objects = await everyObject(world);
  const found = [...objects].filter(([, text]) => finder.find(Buffer.from(text)).has('the token of the Git host'));
  expect(found.map(([kind]) => kind)).toEqual([]);
  expect([...objects.keys()]).toEqual(expect.arrayContaining(['secrets', 'configmaps', 'events', 'pods']));
  // What it would be found by: a secret that is there.
  const { publicKeys = [] } = (await status(world, () => undefined)).report ?? {};
  const known = new SecretRegistry();
  // The end of it: all keys of a type begin alike.
  known.add('the deploy key', publicKeys[0]?.publicKey.slice(-40) ?? '');
  expect(new Finder(known.names).find(Buffer.from(objects.get('secrets') ?? ''))).toContain('the deploy key');
});

/** As ssh-keygen shows it. */
const fingerprintOf = (publicKey: string): string => parseSshPublicKey(publicKey)?.fingerprint ?? '';
