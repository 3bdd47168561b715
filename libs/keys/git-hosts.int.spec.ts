import 'reflect-metadata';
import { BUCKETS, GitHostEntry, gitKeysRpc, type GitHost, type PutGitHost } from '@fairlead/contracts';
import { answering } from '@fairlead/git-hosts/testing';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gitFixture, tenantId, type GitFixture } from './testing/git-fixture.js';

let fixture: GitFixture;
let bucket: KvSnapshot<GitHostEntry>;

beforeAll(async () => {
  fixture = await gitFixture();
  bucket = watchBucket(fixture.gitopsConnection, BUCKETS.gitHosts, GitHostEntry);
  await bucket.loaded;
});
afterAll(async () => {
  await bucket?.close();
  await fixture?.[Symbol.asyncDispose]();
});

const actor = 'ada';
/** Where nothing listens. */
const NOBODY = 'https://127.0.0.1:1';
const settings = (name: string, changes: Partial<PutGitHost> = {}) => {
  const { url, caPem } = fixture.gitea.front;
  return { name, kind: 'gitea' as const, url, caPem, token: fixture.gitea.tokens.enough, actor, ...changes };
};
const put = (name: string, changes: Partial<PutGitHost> = {}): Promise<GitHost> =>
  fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, settings(name, changes));
const list = async (): Promise<GitHost[]> => (await fixture.asApi.call(gitKeysRpc.listGitHosts, tenantId, {})).hosts;
const remove = (name: string) => fixture.asApi.call(gitKeysRpc.deleteGitHost, tenantId, { name, actor });

it('holds a host with its token sealed, tells what the token may do, and projects it without trusting a key', async () => {
  const made = await put('first');
  expect(made).toMatchObject({ kind: 'gitea', sshHost: '127.0.0.1', sshPort: 22, hasToken: true, problem: null });
  expect(made.findings).toContainEqual(expect.objectContaining({ verdict: 'unverified', right: 'write:repository' }));
  expect(made.checkedAt).not.toBeNull();
  expect(await list()).toContainEqual(made);
  const entry = { id: made.id, name: 'first', sshHost: '127.0.0.1', sshPort: 22, approvedKeys: [] };
  await eventually(() => expect(bucket.get(`${tenantId}.${made.id}`)).toEqual(entry));
  expect((await fixture.events()).at(-1)).toMatchObject({
    type: 'git-host.configured.v1',
    data: { created: true, tokenChanged: true, actor: { kind: 'user', id: actor }, hostId: made.id },
  });
});

it('stores nothing with a token that the host refuses, or while the host is away', async () => {
  const refused = put('refused', { token: 'not-a-token-of-this-host' });
  await expect(refused).rejects.toMatchObject({ code: 'GIT_TOKEN_REFUSED' });
  fixture.gitea.front.inject('GET', '/user', answering(429, { 'retry-after': '60' }), 3);
  await expect(put('refused')).rejects.toMatchObject({ code: 'RATE_LIMITED', details: expect.anything() });
  fixture.gitea.front.clear();
  await expect(put('refused', { caPem: null })).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
  await expect(put('refused', { url: NOBODY })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining(`(refused at ${NOBODY}: ECONNREFUSED)`) as string,
    details: { next: expect.stringContaining(`see whether refused (${NOBODY}) is up`) as string },
  });
  expect((await list()).map(({ name }) => name)).not.toContain('refused');
});

it('keeps the token where it is not given again, and sends it nowhere else', async () => {
  const before = await put('kept');
  const { token: _token, ...rest } = settings('kept', { createRepositories: false, sshPort: 2_222 });
  const changed = await fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, rest);
  expect(changed).toMatchObject({ id: before.id, sshPort: 2_222, hasToken: true });
  const elsewhere = { ...rest, url: 'https://localhost:1/' };
  await expect(fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, elsewhere)).rejects.toThrow('give the token again');
  expect((await fixture.events()).at(-1)).toMatchObject({ data: { created: false, tokenChanged: false } });
});

it('lets one of two administrators win who change the same host at once', async () => {
  await put('raced');
  const both = await Promise.allSettled([put('raced', { sshPort: 1_001 }), put('raced', { sshPort: 1_002 })]);
  const failed = both.filter(({ status }) => status === 'rejected');
  for (const one of failed) expect(one).toMatchObject({ reason: { code: 'CONFLICT' } });
  expect(failed.length).toBeLessThan(2);
});

it('is changed and deleted only as long as it is what somebody has seen, if that is said', async () => {
  const { revision: ifRevision } = await put('seen');
  const ask = (changes: object) =>
    fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, { ...settings('seen', { sshPort: 1_003 }), ...changes });
  const changed = await ask({ ifRevision });
  const conflict = { code: 'REVISION_CONFLICT' };
  await expect(ask({ ifRevision })).rejects.toMatchObject(conflict);
  await expect(ask({ ifRevision: null })).rejects.toMatchObject(conflict);
  const drop = (revision: string) =>
    fixture.asApi.call(gitKeysRpc.deleteGitHost, tenantId, { name: 'seen', actor, ifRevision: revision });
  await expect(drop(ifRevision)).rejects.toMatchObject(conflict);
  await drop(changed.revision);
  await expect(ask({ ifRevision: changed.revision })).rejects.toMatchObject(conflict);
  // Another one, though it was put as often.
  expect((await ask({ ifRevision: null })).revision).not.toBe(ifRevision);
});

it('takes a host out of table and bucket, and shows none to another tenant', async () => {
  const { id } = await put('gone');
  expect((await fixture.asApi.call(gitKeysRpc.listGitHosts, 'other', {})).hosts).toEqual([]);
  await expect(fixture.asApi.call(gitKeysRpc.deleteGitHost, 'other', { name: 'gone', actor })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
  await eventually(() => expect(bucket.get(`${tenantId}.${id}`)).toBeDefined());
  await remove('gone');
  await eventually(() => expect(bucket.get(`${tenantId}.${id}`)).toBeUndefined());
  await expect(remove('gone')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('needs nothing of an API for a manual host', async () => {
  const manual = { name: 'by-hand', kind: 'manual', url: null, caPem: null, token: undefined } as const;
  const made = await put('by-hand', { ...manual, sshHost: 'git.example.com' });
  expect(made).toMatchObject({ hasToken: false, findings: [], checkedAt: null, sshHost: 'git.example.com' });
  await expect(put('by-hand', { ...manual, token: 'a-token-for-nothing', sshHost: 'x' })).rejects.toThrow('manual');
});

it('names the host that is away, whether it is asked for a repository or for its SSH keys', async () => {
  const { front } = fixture.gitea;
  await put('away', { sshPort: 1 });
  front.inject('GET', '/repos/platform/catalog', answering(502), 10);
  const wish = { host: 'away', path: 'platform/catalog', create: false };
  const told = (url: string) => ({
    code: 'UNAVAILABLE',
    message: expect.stringContaining(`(away at ${url}`) as string,
    details: { next: expect.stringContaining(`see whether away (${url}) is up and can be reached`) as string },
  });
  await expect(fixture.asGitops.call(gitKeysRpc.openRepository, tenantId, wish)).rejects.toMatchObject(told(front.url));
  front.clear();
  const scan = fixture.asApi.call(gitKeysRpc.scanHostKeys, tenantId, { name: 'away' });
  await expect(scan).rejects.toMatchObject(told('ssh://127.0.0.1:1'));
});
