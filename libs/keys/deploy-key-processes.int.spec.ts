import 'reflect-metadata';
import { PutGitHost } from '@fairlead/contracts';
import { answering, newPublicKey, startRealGitea, type GiteaUnderTest } from '@fairlead/git-hosts/testing';
import { silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { forgetRemoved } from './feature/forget-ended.js';
import { openGitKeys, type GitKeys } from './index.js';
import { keysFixture, source, type KeysFixture, type KeysProcess } from './testing/keys-fixture.js';

const tenantId = 'default';
const path = 'platform/catalog';
const repositoryId = crypto.randomUUID();
const patient = { timeoutMs: 90_000 };

let keys: KeysFixture;
let gitea: GiteaUnderTest;
let processes: readonly [KeysProcess, KeysProcess];
let git: readonly [GitKeys, GitKeys];
let hostId: string;

beforeAll(async () => {
  keys = await keysFixture();
  gitea = await startRealGitea();
});
afterAll(async () => {
  await gitea?.[Symbol.asyncDispose]();
  await keys?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await keys.reset();
  gitea.front.clear();
  processes = [await keys.start(), await keys.start()];
  git = [await open(processes[0]), await open(processes[1])];
  const { url, caPem } = gitea.front;
  const settings = { name: 'git', kind: 'gitea', url, caPem, token: gitea.tokens.enough } as const;
  const host = await git[0].hosts.put(tenantId, { ...PutGitHost.parse(settings), actor: 'ada' });
  hostId = host.id;
});

function open({ database, ca }: KeysProcess): Promise<GitKeys> {
  const runtime = { database, source, ca, onCommitted: () => undefined, logger: silentLogger };
  return openGitKeys({ ...runtime, leafLifeSeconds: 86_400, deployKeysEveryMs: 1_000, belongs: () => true });
}

async function wantMany(count: number): Promise<string[]> {
  const clusterIds = Array.from({ length: count }, () => crypto.randomUUID());
  for (const [index, clusterId] of clusterIds.entries()) {
    const wish = { clusterId, repositoryId, number: 1, hostId, path, clusterName: `demo-${index}` };
    await git[0].deployKeys.want(tenantId, { ...wish, publicKey: newPublicKey() });
  }
  return clusterIds;
}
const states = async (): Promise<string[]> =>
  (await git[0].deployKeys.list(tenantId, { repositoryId })).keys.map(({ state }) => state);
const posts = (): number => gitea.front.seen.filter((one) => one.startsWith('POST') && one.endsWith('/keys')).length;

it('adds each key once, however many processes work', async () => {
  await wantMany(30);
  {
    await using _first = git[0].startLoop();
    await using _second = git[1].startLoop();
    await eventually(async () => expect(new Set(await states())).toEqual(new Set(['present'])), patient);
  }
  expect(posts()).toBe(30);
  // Of our own installation's title, each.
  const titles = (await gitea.ask<{ title: string }[]>('GET', `/repos/${path}/keys?limit=50`)).map(
    ({ title }) => title,
  );
  expect(new Set(titles).size).toBe(titles.length);
});

it('goes on where a process ended between the host and its own records', async () => {
  const [clusterId] = await wantMany(1);
  await using _loop = git[0].startLoop();
  await eventually(async () => expect(await states()).toEqual(['present']), patient);
  const added = posts();
  // As if it had never come to write it down.
  await processes[0].database.query(`update deploy_keys set state = 'wanted', remote_id = null, seen_at = null`);
  await processes[0].database.query('update deploy_key_repositories set due_at = now()');
  await eventually(async () => expect(await states()).toEqual(['present']), patient);
  expect(posts()).toBe(added);
  await git[0].deployKeys.drop(tenantId, { clusterId: clusterId!, repositoryId, number: 1 });
  await eventually(async () => expect(await states()).toEqual(['removed']), patient);
  const { database } = processes[0];
  const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000);
  expect(await forgetRemoved({ database, now: () => inDays(29) })).toBe(0);
  expect(await forgetRemoved({ database, now: () => inDays(31) })).toBe(1);
  expect(await states()).toEqual([]);
});

it('takes over from a process that is gone when its lease ends, and not before', async () => {
  await wantMany(1);
  const { database } = processes[0];
  const startedMs = performance.now();
  await database.query(
    `update deploy_key_repositories set lease = gen_random_uuid(), leased_until = now() + interval '4 seconds'`,
  );
  await using _loop = git[1].startLoop();
  await eventually(async () => expect(await states()).toEqual(['present']), patient);
  expect(performance.now() - startedMs).toBeGreaterThan(3_000);
});

it('does not keep other repositories waiting for one that fails', async () => {
  gitea.front.inject('GET', '/platform/broken/keys', answering(503), 1_000);
  const clusterId = crypto.randomUUID();
  const broken = { clusterId, repositoryId: crypto.randomUUID(), number: 1, hostId, path: 'platform/broken' };
  await git[0].deployKeys.want(tenantId, { ...broken, clusterName: 'demo', publicKey: newPublicKey() });
  await using _loop = git[0].startLoop();
  const problem = async (): Promise<unknown> => (await git[0].hosts.list(tenantId))[0]?.problem?.code;
  await eventually(async () => expect(await problem()).toBe('UNAVAILABLE'), patient);
  await wantMany(1);
  await eventually(async () => expect(await states()).toEqual(['present']), patient);
});
