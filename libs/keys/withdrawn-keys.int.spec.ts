import 'reflect-metadata';
import { gitKeysRpc, type DeployKey, type GitHost } from '@fairlead/contracts';
import { answering, newPublicKey } from '@fairlead/git-hosts/testing';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gitFixture, tenantId, type GitFixture } from './testing/git-fixture.js';

const patient = { timeoutMs: 60_000 };
const path = 'platform/catalog';
const name = { clusterId: crypto.randomUUID(), repositoryId: crypto.randomUUID(), number: 1 };

let fixture: GitFixture;
let host: GitHost;

beforeAll(async () => {
  fixture = await gitFixture({ deployKeysEveryMs: 1_000 });
  const { front, info, tokens } = fixture.gitea;
  const { url, caPem } = front;
  const input = { name: 'git', kind: 'gitea', url, caPem, token: tokens.enough, sshPort: info.sshPort } as const;
  host = await fixture.asApi.call(gitKeysRpc.putGitHost, tenantId, { ...input, actor: 'ada' });
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

const key = async (): Promise<DeployKey | undefined> =>
  (await fixture.asGitops.call(gitKeysRpc.listDeployKeys, tenantId, { clusterId: name.clusterId })).keys[0];
const hostNow = async (): Promise<GitHost | undefined> =>
  (await fixture.asApi.call(gitKeysRpc.listGitHosts, tenantId, {})).hosts.find(({ id }) => id === host.id);
const isOnHost = async (publicKey: string): Promise<boolean> =>
  (await fixture.gitea.ask<{ key: string }[]>('GET', `/repos/${path}/keys?limit=50`)).some(
    (each) => each.key === publicKey,
  );

it('a key that counts as compromised is removed once the Git host can be reached, and shown as still there until then', async () => {
  const publicKey = newPublicKey();
  const wish = { ...name, hostId: host.id, path, clusterName: 'demo', publicKey };
  await fixture.asGitops.call(gitKeysRpc.wantDeployKey, tenantId, wish);
  await eventually(async () => expect(await key()).toMatchObject({ state: 'present' }), patient);
  fixture.gitea.front.inject('GET', '/keys', answering(503), 1_000);
  expect(await fixture.asGitops.call(gitKeysRpc.dropDeployKey, tenantId, name)).toMatchObject({ state: 'removing' });
  await eventually(async () => expect((await hostNow())?.problem).not.toBeNull(), patient);
  expect(await key()).toMatchObject({ state: 'removing' });
  // Said again, as after a restart of whoever asks: it is the same.
  expect(await fixture.asGitops.call(gitKeysRpc.dropDeployKey, tenantId, name)).toMatchObject({ state: 'removing' });
  expect(await isOnHost(publicKey)).toBe(true);
  fixture.gitea.front.clear();
  await eventually(async () => expect(await key()).toMatchObject({ state: 'removed', problem: null }), patient);
  expect(await isOnHost(publicKey)).toBe(false);
  expect((await hostNow())?.problem).toBeNull();
});
