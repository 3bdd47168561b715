// @tier full: e2e/gitops/follow fetches from it with a read-only deploy key, and stops and starts it; libs/git-hosts/gitea asks its API
import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askGitea as ask } from '../fixtures/gitea-api.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import type { GiteaInfo, Running } from './contract.js';
import { startGitea } from './gitea.js';

describe('gitea', () => {
  let dir: Awaited<ReturnType<typeof temporaryDirectory>>;
  let gitea: Running<GiteaInfo>;

  beforeAll(async () => {
    dir = await temporaryDirectory();
    gitea = await startGitea({ dataDir: join(dir.path, 'gitea'), log: () => {} });
  });

  afterAll(async () => {
    await gitea?.stop();
    await dir[Symbol.asyncDispose]();
  });

  it('serves its API over TLS of its own authority, to nobody without an account', async () => {
    await expect(fetch(`${gitea.info.url}/api/v1/version`)).rejects.toThrow('fetch failed');
    expect(await ask(gitea.info, 'GET', '/repos/search')).toMatchObject({ status: 403 });
    const me = await ask(gitea.info, 'GET', '/user', undefined, gitea.info.adminToken);
    expect(JSON.parse(me.body)).toMatchObject({ login: gitea.info.adminUser, is_admin: true });
    expect(gitea.info.url).toBe(`https://127.0.0.1:${gitea.info.port}`);
  });

  it('keeps its secrets in files that only its user reads', async () => {
    const secret = ['admin-token', 'app.ini', 'pki/ca.key', 'pki/ssh-host-key', 'pki/internal-token'];
    const modes = await Promise.all(secret.map(async (file) => (await stat(join(dir.path, 'gitea', file))).mode));
    expect(modes.map((mode) => mode & 0o077)).toEqual(secret.map(() => 0));
    const log = await readFile(join(dir.path, 'gitea/gitea.log'), 'utf8');
    expect(log).not.toContain(gitea.info.adminToken);
  });

  it('lets a read-only deploy key fetch over SSH, under the host key it says it has, and not push', async () => {
    const { info } = gitea;
    const repository = { name: 'catalog', private: true, auto_init: true };
    expect(await ask(info, 'POST', '/user/repos', repository, info.adminToken)).toMatchObject({ status: 201 });
    const keyPath = join(dir.path, 'deploy-key');
    await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', keyPath]);
    const key = { title: 'demo', key: await readFile(`${keyPath}.pub`, 'utf8'), read_only: true };
    const keysPath = `/repos/${info.adminUser}/catalog/keys`;
    expect(await ask(info, 'POST', keysPath, key, info.adminToken)).toMatchObject({ status: 201 });
    const knownHosts = join(dir.path, 'known_hosts');
    await writeFile(knownHosts, `[127.0.0.1]:${info.sshPort} ${info.sshHostKey}\n`);
    const ssh = `ssh -F /dev/null -i ${keyPath} -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=${knownHosts}`;
    const env = { ...process.env, GIT_SSH_COMMAND: ssh, GIT_TERMINAL_PROMPT: '0' };
    const git = (...args: string[]) => promisify(execFile)('git', args, { env, cwd: dir.path, timeout: 60_000 });
    const url = `ssh://git@127.0.0.1:${info.sshPort}/${info.adminUser}/catalog.git`;
    expect((await git('ls-remote', url)).stdout).toContain('refs/heads/main');
    await git('clone', '--quiet', url, 'clone');
    await expect(git('-C', 'clone', 'push', 'origin', 'HEAD:refs/heads/other')).rejects.toThrow(
      /not authorized to write/u,
    );
    await writeFile(knownHosts, `[127.0.0.1]:${info.sshPort} ssh-ed25519 ${'A'.repeat(68)}\n`);
    await expect(git('ls-remote', url)).rejects.toThrow('Host key verification failed');
  });

  it('comes back on the same ports with its data, its token and its keys', async () => {
    const before = gitea.info;
    gitea.kill('SIGKILL');
    await gitea.exited;
    await gitea.restart();
    const found = await ask(before, 'GET', `/repos/${before.adminUser}/catalog`, undefined, before.adminToken);
    expect(found.status).toBe(200);
    await gitea.stop();
    const { port, sshPort } = before;
    gitea = await startGitea({ dataDir: join(dir.path, 'gitea'), port, sshPort, log: () => {} });
    expect(gitea.info).toEqual(before);
  });
});
