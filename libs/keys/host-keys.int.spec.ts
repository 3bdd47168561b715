import 'reflect-metadata';
import { BUCKETS, GitHostEntry, gitKeysRpc, type GitHost } from '@fairlead/contracts';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gitFixture, tenantId, type GitFixture } from './testing/git-fixture.js';

let fixture: GitFixture;
let bucket: KvSnapshot<GitHostEntry>;
let host: GitHost;

beforeAll(async () => {
  fixture = await gitFixture({ scanMs: 500 });
  bucket = watchBucket(fixture.gitopsConnection, BUCKETS.gitHosts, GitHostEntry);
  await bucket.loaded;
  const { front, tokens, info } = fixture.gitea;
  host = await fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, {
    name: 'git',
    kind: 'gitea',
    url: front.url,
    caPem: front.caPem,
    token: tokens.enough,
    sshHost: '127.0.0.1',
    sshPort: info.sshPort,
    actor: 'ada',
  });
});
afterAll(async () => {
  await bucket?.close();
  await fixture?.[Symbol.asyncDispose]();
});

const current = async (): Promise<GitHost> => {
  const { hosts } = await fixture.asApi.call(gitKeysRpc.listGitHosts, tenantId, {});
  return hosts.find(({ id }) => id === host.id)!;
};
const approve = (fingerprints: string[], keys: string[] = []): Promise<GitHost> =>
  fixture.asApi.call(gitKeysRpc.approveHostKeys, tenantId, { name: 'git', fingerprints, keys, actor: 'ada' });
const scan = (): Promise<GitHost> => fixture.asApi.call(gitKeysRpc.scanHostKeys, tenantId, { name: 'git' });
const changes = async () => (await fixture.events()).filter(({ type }) => type === 'git-host.key-changed.v1');
const pinned = (): string[] | undefined => bucket.get(`${tenantId}.${host.id}`)?.approvedKeys;

it('proposes the key that the host shows by itself, and trusts it when an administrator says so', async () => {
  const scanned = await scan();
  expect(scanned.hostKeys).toMatchObject([
    { key: fixture.gitea.info.sshHostKey, type: 'ssh-ed25519', state: 'proposed', decidedBy: null },
  ]);
  await eventually(() => expect(pinned()).toEqual([]));
  const [{ fingerprint }] = scanned.hostKeys as [GitHost['hostKeys'][number]];
  await expect(approve(['SHA256:neverseen'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await approve([fingerprint])).hostKeys).toMatchObject([{ state: 'approved', decidedBy: 'ada' }]);
  await eventually(() => expect(pinned()).toEqual([fixture.gitea.info.sshHostKey]));
  expect(await changes()).toEqual([]);
});

it('tells once of a host that shows another key, trusts it no sooner than an administrator, and recovers', async () => {
  const [before] = (await current()).hostKeys;
  await fixture.gitea.changeHostKey('rsa');
  await eventually(async () => expect(await changes()).toHaveLength(1), { timeoutMs: 60_000 });
  const changed = await current();
  const other = changed.hostKeys.find(({ state }) => state === 'proposed')!;
  expect(other.type).toBe('ssh-rsa');
  expect((await changes())[0]?.data).toMatchObject({ fingerprint: other.fingerprint, type: 'ssh-rsa', name: 'git' });
  expect(changed.problem).toMatchObject({ code: 'GIT_HOST_KEY_CHANGED' });
  expect(pinned()).toEqual([fixture.gitea.info.sshHostKey]);
  // It is looked at again and again, and told once.
  const { lastSeenAt } = other;
  await eventually(async () => {
    const seen = (await current()).hostKeys.find(({ fingerprint }) => fingerprint === other.fingerprint);
    expect(Date.parse(seen!.lastSeenAt!)).toBeGreaterThan(Date.parse(lastSeenAt!) + 1_000);
  });
  expect(await changes()).toHaveLength(1);
  const settled = await approve([other.fingerprint]);
  expect(settled.problem).toBeNull();
  expect(settled.hostKeys.find(({ fingerprint }) => fingerprint === before!.fingerprint)?.state).toBe('withdrawn');
  await eventually(() => expect(pinned()).toEqual([other.key]));
  const decided = (await fixture.events()).at(-1);
  expect(decided).toMatchObject({
    type: 'git-host.keys-approved.v1',
    data: { approved: [other.fingerprint], withdrawn: [before!.fingerprint], actor: { kind: 'user', id: 'ada' } },
  });
});

it('takes a key that is known from elsewhere, so that no scan has to be believed', async () => {
  const key = fixture.gitea.info.sshHostKey;
  const { fingerprint } = (await current()).hostKeys.find((one) => one.key === key)!;
  await approve([fingerprint], [key]);
  await eventually(() => expect(pinned()).toEqual([key]));
  expect((await current()).problem).toMatchObject({ code: 'GIT_HOST_KEY_CHANGED' });
});
