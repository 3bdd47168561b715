import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { BUCKETS, GitHostEntry, gitKeysRpc } from '@fairlead/contracts';
import { KnownHost, formatKnownHosts } from '@fairlead/desired-state';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gitFixture, tenantId, type GitFixture } from './testing/git-fixture.js';

const patient = { timeoutMs: 60_000 };
const path = 'platform/catalog';
const name = 'git';
const actor = 'ada';
const run = promisify(execFile);

let fixture: GitFixture;
let bucket: KvSnapshot<GitHostEntry>;

beforeAll(async () => {
  fixture = await gitFixture({ deployKeysEveryMs: 1_000, scanMs: 1_000 });
  bucket = watchBucket(fixture.gitopsConnection, BUCKETS.gitHosts, GitHostEntry);
  await bucket.loaded;
});
afterAll(async () => {
  await bucket?.close();
  await fixture?.[Symbol.asyncDispose]();
});

/** As a cluster's tool has it: the pinned keys of the host, and nothing else. */
async function writeKnownHosts(hostId: string): Promise<void> {
  const { sshHost, sshPort, approvedKeys } = bucket.get(`${tenantId}.${hostId}`)!;
  const hosts = approvedKeys.map((line) => {
    const [type, key] = line.split(' ');
    return KnownHost.parse({ host: `[${sshHost}]:${sshPort}`, type, key });
  });
  await writeFile(fixture.keys.scratch.file('known_hosts'), formatKnownHosts(hosts));
}

/** Git as a cluster would run it, with its own key and strict checking. */
async function git(...args: string[]): Promise<string> {
  const [key, known] = ['cluster-key', 'known_hosts'].map((file) => fixture.keys.scratch.file(file));
  const options = ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${known}`, 'IdentitiesOnly=yes', 'BatchMode=yes'];
  const ssh = ['ssh', '-F', 'none', '-i', key, ...options.flatMap((option) => ['-o', option])].join(' ');
  const env = { PATH: process.env['PATH'], GIT_SSH_COMMAND: ssh, HOME: fixture.keys.scratch.path };
  const { stdout } = await run('git', args, { env, timeout: 30_000, cwd: fixture.keys.scratch.path });
  return stdout;
}

const approve = (fingerprints: string[]) =>
  fixture.asApi.call(gitKeysRpc.approveHostKeys, tenantId, { name, fingerprints, actor });
const proposed = async (): Promise<string[]> => {
  const { hostKeys } = await fixture.asApi.call(gitKeysRpc.scanHostKeys, tenantId, { name });
  return hostKeys.filter(({ state }) => state === 'proposed').map(({ fingerprint }) => fingerprint);
};

it('lets a cluster fetch with its own key from a host whose key was approved, and nothing more', async () => {
  const { gitea, asApi, asGitops } = fixture;
  const { url, caPem } = gitea.front;
  const settings = { name, kind: 'gitea', url, caPem, token: gitea.tokens.enough, actor } as const;
  const host = await asApi.call(gitKeysRpc.putGitHost, tenantId, { ...settings, sshPort: gitea.info.sshPort });
  await approve(await proposed());
  const wish = { host: name, path, create: false, branch: 'main' };
  const { sshUrl, head } = await asGitops.call(gitKeysRpc.openRepository, tenantId, wish);
  await eventually(() => expect(bucket.get(`${tenantId}.${host.id}`)?.approvedKeys).toHaveLength(1));
  await writeKnownHosts(host.id);

  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', fixture.keys.scratch.file('cluster-key')]);
  await expect(git('ls-remote', sshUrl, 'main')).rejects.toThrow(/Permission denied|publickey/);
  const publicKey = (await readFile(fixture.keys.scratch.file('cluster-key.pub'), 'utf8')).trim();
  const key = { clusterId: crypto.randomUUID(), repositoryId: crypto.randomUUID(), number: 1 };
  const wanted = { ...key, hostId: host.id, path, clusterName: 'demo', publicKey };
  await asGitops.call(gitKeysRpc.wantDeployKey, tenantId, wanted);
  await eventually(async () => expect(await git('ls-remote', sshUrl, 'main')).toContain(head), patient);

  await git('clone', '-q', sshUrl, 'clone');
  await expect(git('-C', 'clone', 'push', 'origin', 'HEAD:refs/heads/mine')).rejects.toThrow(/denied|not authorized/i);

  await gitea.changeHostKey();
  await eventually(async () => expect(await proposed()).toHaveLength(1), patient);
  await expect(git('ls-remote', sshUrl, 'main')).rejects.toThrow(/REMOTE HOST IDENTIFICATION HAS CHANGED/);
  const [changed] = await proposed();
  await approve([changed!]);
  await eventually(async () => {
    await writeKnownHosts(host.id);
    expect(await git('ls-remote', sshUrl, 'main')).toContain(head);
  }, patient);

  await asGitops.call(gitKeysRpc.dropDeployKey, tenantId, key);
  await eventually(() => expect(git('ls-remote', sshUrl, 'main')).rejects.toThrow(/Permission denied/), patient);
});
