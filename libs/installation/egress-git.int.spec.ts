import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGitea, type GiteaInfo, type Running } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

const run = promisify(execFile);

let dir: Awaited<ReturnType<typeof scratchDir>>;
let gitea: Running<GiteaInfo>;
let installation: TestInstallation;
let replica: Replica;
let agent: RunningAgent;
let keyPath: string;
let knownHosts: string;

beforeAll(async () => {
  dir = await scratchDir();
  gitea = await startGitea({ dataDir: join(dir.path, 'gitea'), log: () => {} });
  const { sshPort } = gitea.info;
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a', { allowEgress: [`demo@127.0.0.1:${sshPort}`] });
  const egress = [
    { host: '127.0.0.1', port: sshPort },
    { host: '127.0.0.1', port: gitea.info.port },
  ];
  agent = await installation.startAgent({ replicas: [replica], apiPort: 1, egress });
  await addCatalog();
}, 180_000);

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await gitea?.stop();
  await dir?.[Symbol.asyncDispose]();
});

async function addCatalog(): Promise<void> {
  const { info } = gitea;
  const repository = { name: 'catalog', private: true, auto_init: true };
  expect(await post('/user/repos', repository)).toBe(201);
  keyPath = join(dir.path, 'deploy-key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', keyPath]);
  const key = { title: 'demo', key: await readFile(`${keyPath}.pub`, 'utf8'), read_only: true };
  const keysPath = `/repos/${info.adminUser}/catalog/keys`;
  expect(await post(keysPath, key)).toBe(201);
  knownHosts = join(dir.path, 'known_hosts');
}

/** The status of what Gitea's API answers. */
async function post(path: string, body: object): Promise<number | undefined> {
  const { url, caPem: ca, adminToken } = gitea.info;
  const headers = { authorization: `token ${adminToken}`, 'content-type': 'application/json' };
  const outgoing = request(`${url}/api/v1${path}`, { method: 'POST', ca, headers, timeout: 30_000 });
  outgoing.end(JSON.stringify(body));
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

/** As the cluster has it: the Git host's own key, under the name that is dialled. */
async function trust(port: number | undefined, hostKey: string): Promise<void> {
  await writeFile(knownHosts, `[127.0.0.1]:${port} ${hostKey}\n`);
}

function git(...args: string[]): Promise<{ stdout: string }> {
  const ssh = `ssh -F /dev/null -i ${keyPath} -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=${knownHosts}`;
  const env = { ...process.env, GIT_SSH_COMMAND: ssh, GIT_TERMINAL_PROMPT: '0' };
  return run('git', args, { env, cwd: dir.path, timeout: 60_000 });
}

const catalogAt = (port: number | undefined): string =>
  `ssh://git@127.0.0.1:${port}/${gitea.info.adminUser}/catalog.git`;

it('Git is fetched over SSH through the agent, the host’s own key pinned under the dialled [host]:port', async () => {
  const [port] = agent.egressPorts;
  await trust(port, gitea.info.sshHostKey);
  expect((await git('ls-remote', catalogAt(port))).stdout).toContain('refs/heads/main');
  await git('clone', '--quiet', catalogAt(port), 'clone');
  expect((await readFile(join(dir.path, 'clone/README.md'), 'utf8')).length).toBeGreaterThan(0);
  expect(await replica.registry.metrics()).toMatch(/fairlead_gateway_egress_connections_total\{outcome="ok"\} [1-9]/);
});

it('a host key that is not the pinned one stops it, before anything is asked for', async () => {
  const [port] = agent.egressPorts;
  const otherKey = join(dir.path, 'other-host-key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', otherKey]);
  await trust(port, (await readFile(`${otherKey}.pub`, 'utf8')).trim());
  await expect(git('ls-remote', catalogAt(port))).rejects.toThrow('Host key verification failed');
});

it('a port of the same host that no rule allows is refused', async () => {
  const [, port] = agent.egressPorts;
  await trust(port, gitea.info.sshHostKey);
  await expect(git('ls-remote', catalogAt(port))).rejects.toThrow(/reset|closed/i);
  expect(replica.refusals).toMatchObject([{ door: 'egress', code: 'TARGET_REFUSED', cluster: 'demo' }]);
});
