import 'reflect-metadata';
import { gitKeysRpc, type DeployKey, type GitHost } from '@fairlead/contracts';
import { answering, newPublicKey } from '@fairlead/git-hosts/testing';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gitFixture, tenantId, type GitFixture } from './testing/git-fixture.js';

const patient = { timeoutMs: 60_000 };
const actor = 'ada';

let fixture: GitFixture;
let host: GitHost;
/** Every token that was ever given: none of them may be anywhere. */
const tokens: string[] = [];

beforeAll(async () => {
  fixture = await gitFixture({ deployKeysEveryMs: 1_000 });
  host = await put(fixture.gitea.tokens.enough);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const call: GitFixture['asGitops']['call'] = (...args) => fixture.asGitops.call(...args);

async function put(token: string): Promise<GitHost> {
  tokens.push(token);
  const { url, caPem } = fixture.gitea.front;
  const sshPort = fixture.gitea.info.sshPort;
  const input = { name: 'git', kind: 'gitea', url, caPem, token, sshPort, actor } as const;
  return fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, input);
}

interface Wanted {
  readonly clusterId: string;
  readonly repositoryId: string;
  readonly number: number;
  readonly publicKey: string;
}

const wanted = (changes: Partial<Wanted> = {}): Wanted => ({
  clusterId: crypto.randomUUID(),
  repositoryId,
  number: 1,
  publicKey: newPublicKey(),
  ...changes,
});
const repositoryId = crypto.randomUUID();
const path = 'platform/catalog';
const want = (key: Wanted, where: { hostId?: string; path?: string } = {}): Promise<DeployKey> =>
  call(gitKeysRpc.wantDeployKey, tenantId, { ...key, hostId: host.id, path, clusterName: 'demo', ...where });
const drop = ({ clusterId, number }: Wanted): Promise<DeployKey> =>
  call(gitKeysRpc.dropDeployKey, tenantId, { clusterId, repositoryId, number });
const keysOf = async (clusterId: string): Promise<DeployKey[]> =>
  (await call(gitKeysRpc.listDeployKeys, tenantId, { clusterId })).keys;
const keyOf = async ({ clusterId, number }: Wanted): Promise<DeployKey | undefined> =>
  (await keysOf(clusterId)).find((key) => key.number === number);
const becomes = (key: Wanted, state: Partial<DeployKey>): Promise<void> =>
  eventually(async () => expect(await keyOf(key)).toMatchObject(state), patient);

interface OnHost {
  readonly id: number;
  readonly title: string;
  readonly key: string;
  readonly read_only: boolean;
}
const onHost = async (publicKey: string): Promise<OnHost | undefined> => {
  const keys = await fixture.gitea.ask<OnHost[]>('GET', '/repos/platform/catalog/keys?limit=50');
  return keys.find(({ key }) => key === publicKey);
};
const removeByHand = (id: number) => fixture.gitea.ask('DELETE', `/repos/platform/catalog/keys/${id}`);
const eventsOf = async (key: Wanted): Promise<string[]> =>
  (await fixture.events()).filter(({ data }) => data['clusterId'] === key.clusterId).map(({ type }) => type);
const hostNow = async (): Promise<GitHost> =>
  (await fixture.asApi.call(gitKeysRpc.listGitHosts, tenantId, {})).hosts.find(({ id }) => id === host.id)!;

it('opens a repository: where clusters fetch it, its branch, and what the token may do there', async () => {
  const { gitea } = fixture;
  const opened = await call(gitKeysRpc.openRepository, tenantId, { host: 'git', path, create: false, branch: 'main' });
  const sshUrl = `ssh://git@127.0.0.1:${gitea.info.sshPort}/${path}.git`;
  expect(opened).toEqual({
    hostId: host.id,
    created: false,
    sshUrl,
    defaultBranch: 'main',
    keysByHand: false,
    head: gitea.head,
  });
  const granted = expect.objectContaining({ verdict: 'granted', right: 'write:repository' }) as unknown;
  expect((await hostNow()).findings).toContainEqual(granted);
  const missing = { host: 'git', path: 'platform/nowhere', create: false };
  await expect(call(gitKeysRpc.openRepository, tenantId, missing)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const creating = call(gitKeysRpc.openRepository, tenantId, { ...missing, create: true });
  await expect(creating).rejects.toMatchObject({ code: 'GIT_RIGHTS_MISSING' });
});

it('adds a key that may only read, once, and says when it is there', async () => {
  const key = wanted();
  expect(await want(key)).toMatchObject({ state: 'wanted', restored: 0, problem: null });
  await becomes(key, { state: 'present', problem: null });
  expect(await onHost(key.publicKey)).toMatchObject({ read_only: true, title: expect.stringMatching(/^fairlead:fl-/) });
  expect(await want(key)).toMatchObject({ state: 'present' });
  expect(await eventsOf(key)).toEqual(['deploy-key.added.v1']);
});

it('puts back a key that somebody deleted, and tells it', async () => {
  const key = wanted();
  await want(key);
  await becomes(key, { state: 'present' });
  for (const restored of [1, 2]) {
    await removeByHand((await onHost(key.publicKey))!.id);
    await becomes(key, { state: 'present', restored });
    expect(await onHost(key.publicKey)).toBeDefined();
  }
  const restored = 'deploy-key.restored.v1';
  expect(await eventsOf(key)).toEqual(['deploy-key.added.v1', restored, restored]);
});

it('removes what it added, and never a key of somebody else', async () => {
  const [ours, theirs] = [wanted(), wanted()];
  const id = await fixture.gitea.addByHand({ title: 'by hand', publicKey: theirs.publicKey, readOnly: true });
  for (const key of [ours, theirs]) {
    await want(key);
    await becomes(key, { state: 'present' });
  }
  for (const key of [ours, theirs]) {
    expect(await drop(key)).toMatchObject({ state: 'removing' });
    await becomes(key, { state: 'removed' });
  }
  expect(await onHost(ours.publicKey)).toBeUndefined();
  expect(await onHost(theirs.publicKey)).toMatchObject({ id: Number(id), title: 'by hand' });
  expect((await keyOf(theirs))?.instructions).toContain('remove it yourself');
  expect(await eventsOf(ours)).toEqual(['deploy-key.added.v1', 'deploy-key.removed.v1']);
  expect(await eventsOf(theirs)).toEqual([]);
  // Wanted once more.
  await want(ours);
  await becomes(ours, { state: 'present', restored: 0 });
});

it('refuses a key that may write, until somebody takes that away', async () => {
  const key = wanted();
  const id = await fixture.gitea.addByHand({ title: 'may write', publicKey: key.publicKey, readOnly: false });
  await want(key);
  await becomes(key, { state: 'refused', problem: { code: 'CONFLICT', message: expect.stringContaining('write') } });
  expect(await eventsOf(key)).toEqual(['deploy-key.refused.v1']);
  await removeByHand(Number(id));
  // At once, not in ten minutes.
  await drop(key);
  await becomes(key, { state: 'removed' });
  await want(key);
  await becomes(key, { state: 'present', problem: null });
});

it('goes over to another key of the same number, and to the next number, without losing one', async () => {
  const first = wanted();
  await want(first);
  await becomes(first, { state: 'present' });
  const again = { ...first, publicKey: newPublicKey() };
  await want(again);
  await eventually(async () => expect(await onHost(first.publicKey)).toBeUndefined(), patient);
  await becomes(again, { state: 'present' });
  const next = { ...first, number: 2, publicKey: newPublicKey() };
  await want(next);
  await becomes(next, { state: 'present' });
  expect(await onHost(again.publicKey)).toBeDefined();
  expect((await keysOf(first.clusterId)).map(({ number, state }) => [number, state])).toEqual([
    [1, 'present'],
    [2, 'present'],
  ]);
});

it('shows what is wrong with a repository, and goes on when it is there', async () => {
  const key = wanted();
  await want(key, { path: 'platform/later' });
  await becomes(key, { state: 'wanted', problem: { code: 'NOT_FOUND', message: expect.any(String) } });
  expect((await hostNow()).problem).toBeNull();
  await fixture.gitea.ask('POST', '/orgs/platform/repos', { name: 'later', private: true, auto_init: true });
  await fixture.gitea.ask('PUT', '/repos/platform/later/collaborators/fairlead-bot', { permission: 'admin' });
  await becomes(key, { state: 'present', problem: null });
  // From here on the host is asked about one repository only.
  await drop(key);
  await becomes(key, { state: 'removed' });
});

it('sends nothing to a host that wants to be left alone, and goes on afterwards', async () => {
  const { front } = fixture.gitea;
  front.inject('GET', '/keys', answering(429, { 'retry-after': '600' }), 1);
  await eventually(async () => expect((await hostNow()).problem).toMatchObject({ code: 'RATE_LIMITED' }), patient);
  const { problem } = await hostNow();
  expect(Date.parse(problem!.retryAt!) - Date.now()).toBeGreaterThan(300_000);
  front.clear();
  const opening = call(gitKeysRpc.openRepository, tenantId, { host: 'git', path, create: false });
  await expect(opening).rejects.toMatchObject({ code: 'RATE_LIMITED', details: { retryAt: problem?.retryAt } });
  expect(front.seen).toEqual([]);
  // As if nearly all of that had passed.
  const [[left]] = (await fixture.process.database.query(
    `update git_hosts set retry_at = now() + interval '2 seconds' where id = $1 returning retry_at as "retryAt"`,
    [host.id],
  )) as [[{ retryAt: Date }], number];
  await eventually(async () => expect((await hostNow()).problem).toBeNull(), patient);
  expect(Date.now()).toBeGreaterThanOrEqual(left.retryAt.getTime());
});

it('shows that a token was revoked, and recovers with another one', async () => {
  const key = wanted();
  await fixture.gitea.revoke(tokens.at(-1)!);
  await eventually(async () => expect((await hostNow()).problem).toMatchObject({ code: 'GIT_TOKEN_REFUSED' }), patient);
  await want(key);
  const failing = (await fixture.events()).filter(({ type }) => type === 'git-host.failing.v1');
  expect(failing).toMatchObject([{ data: { reason: 'GIT_TOKEN_REFUSED', hostId: host.id } }]);
  await put(await fixture.gitea.token('write:repository'));
  expect((await hostNow()).problem).toBeNull();
  await becomes(key, { state: 'present' });
});

it('tells once of a token that ends soon', async () => {
  const { database } = fixture.process;
  const told = async () => (await fixture.events()).filter(({ type }) => type === 'git-host.token-expiring.v1');
  await database.query(`update git_hosts set token_expires_at = now() + interval '13 days' where id = $1`, [host.id]);
  await eventually(async () => expect(await told()).toMatchObject([{ data: { hostId: host.id } }]), patient);
  // Another look at the repository later there is still one.
  const key = wanted();
  await want(key);
  await becomes(key, { state: 'present' });
  expect(await told()).toHaveLength(1);
});

it('says what to do by hand where no API is used', async () => {
  const settings = { name: 'by-hand', kind: 'manual', sshHost: 'git.example.com', actor } as const;
  const manual = await fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, settings);
  const opened = await call(gitKeysRpc.openRepository, tenantId, { host: 'by-hand', path, create: false });
  expect(opened).toMatchObject({ sshUrl: `ssh://git@git.example.com/${path}.git`, keysByHand: true, head: null });
  const key = wanted();
  await want(key, { hostId: manual.id });
  await becomes(key, { state: 'by-hand', instructions: expect.stringContaining('Add this key to platform/catalog') });
  const deleting = fixture.asApi.call(gitKeysRpc.deleteGitHost, tenantId, { name: 'by-hand', actor });
  await expect(deleting).rejects.toMatchObject({ code: 'CONFLICT' });
  await drop(key);
  await becomes(key, { state: 'removed', instructions: expect.stringContaining('Remove the deploy key') });
  await fixture.asApi.call(gitKeysRpc.deleteGitHost, tenantId, { name: 'by-hand', actor });
});

it('lists page by page, one tenant at a time', async () => {
  const listed = await call(gitKeysRpc.listDeployKeys, tenantId, { repositoryId });
  expect(listed.keys.length).toBeGreaterThan(5);
  expect(listed.next).toBeUndefined();
  expect((await call(gitKeysRpc.listDeployKeys, 'other', { repositoryId })).keys).toEqual([]);
  const wrong = call(gitKeysRpc.listDeployKeys, tenantId, { repositoryId, after: 'nonsense' });
  await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('has no token in any row, event, log line or answer', async () => {
  const { database } = fixture.process;
  const tables = (await database.query(
    `select table_name as name from information_schema.tables where table_schema = current_schema()`,
  )) as { name: string }[];
  const rows = await Promise.all(tables.map(({ name }) => database.query(`select t::text from ${name} t`)));
  const { hosts } = await fixture.asApi.call(gitKeysRpc.listGitHosts, tenantId, {});
  const everything = `${JSON.stringify(rows)} ${fixture.logged()} ${JSON.stringify(hosts)}`;
  expect(everything).toContain('git_host.failing');
  expect(tables.length).toBeGreaterThan(8);
  for (const token of tokens) {
    const forms = [token, Buffer.from(token).toString('base64'), Buffer.from(token).toString('hex')];
    for (const form of forms) expect(everything.includes(form)).toBe(false);
  }
});
