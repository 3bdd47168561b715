import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { silentLogger } from '@fairlead/observability';
import { inTransaction } from '@fairlead/persistence';
import { emptyTables } from '@fairlead/persistence/testing';
import { eventually } from '@fairlead/testing';
import { Server as SshServer, utils } from 'ssh2';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DeployKeyLoop } from './feature/git/deploy-key-loop.js';
import { openGitKeys, watchHostKeys } from './index.js';
import type { GitKeys } from './feature/git/git-keys.js';
import { leaseRepository, wakeRepository, type LeasedRepository } from './store/repository-lease-store.js';
import { keysFixture, source, type KeysFixture, type KeysProcess } from './testing/keys-fixture.js';

const patient = { timeoutMs: 60_000 };
const logger = silentLogger;

let fixture: KeysFixture;
let process: KeysProcess;
let git: GitKeys;

beforeAll(async () => {
  fixture = await keysFixture();
  process = await fixture.start();
  const { database, ca } = process;
  const onCommitted = (): void => undefined;
  const options = { database, source, ca, onCommitted, logger, leafLifeSeconds: 86_400, belongs: () => true };
  git = await openGitKeys({ ...options, deployKeysEveryMs: 60_000 });
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await emptyTables(process.database, 'git_hosts');
});

/** Hosts of a tenant at this port. Their ids. */
async function addHosts(tenantId: string, count: number, sshPort = 22): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const input = {
      name: `host-${at}`,
      kind: 'manual',
      url: null,
      sshHost: '127.0.0.1',
      sshPort,
      caPem: null,
    } as const;
    ids.push((await git.hosts.put(tenantId, { ...input, createRepositories: false, actor: 'ada' })).id);
  }
  return ids;
}

/** Takes connections, and says nothing. */
async function tarpit(): Promise<{ port: number; most: () => number } & AsyncDisposable> {
  const open = new Set<Socket>();
  let most = 0;
  const server = createServer((socket) => {
    open.add(socket);
    most = Math.max(most, open.size);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = async (): Promise<void> => {
    for (const socket of open) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, most: () => most, [Symbol.asyncDispose]: end };
}

async function sshServer(): Promise<{ port: number } & AsyncDisposable> {
  const { private: key } = utils.generateKeyPairSync('ed25519');
  const server = new SshServer({ hostKeys: [key] }, (client) => void client.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: end };
}

it('host keys of a tenant are looked at while all hosts of another one say nothing', async () => {
  await using silent = await tarpit();
  await using speaking = await sshServer();
  await addHosts('tarpit', 20, silent.port);
  await addHosts('calm', 1, speaking.port);
  await using _watch = watchHostKeys(git.hostKeys, { intervalMs: 600_000, logger });
  await eventually(async () => {
    const [host] = await git.hosts.list('calm');
    expect(host?.hostKeys).toMatchObject([{ type: 'ssh-ed25519', state: 'proposed' }]);
  }, patient);
  await eventually(() => expect(silent.most()).toBe(2), patient);
});

const wake = (hostId: string, path: string): Promise<void> =>
  inTransaction(process.database, (manager) => wakeRepository(manager, hostId, path));

it('deploy keys of a tenant are worked on while all hosts of another one take for ever', async () => {
  const slow = new Set(await addHosts('tarpit', 10));
  const [calm] = (await addHosts('calm', 1)) as [string];
  for (const hostId of slow) for (const path of ['a/a', 'b/b', 'c/c']) await wake(hostId, path);
  await wake(calm, 'a/a');
  const started: LeasedRepository[] = [];
  const keys = {
    run: async (leased: LeasedRepository, signal: AbortSignal) => {
      started.push(leased);
      if (slow.has(leased.hostId) && !signal.aborted) await once(signal, 'abort');
      return 'never' as const;
    },
  };
  await using _loop = new DeployKeyLoop({ database: process.database, keys, logger, everyMs: 60_000 });
  const ofCalm = (): LeasedRepository[] => started.filter(({ hostId }) => hostId === calm);
  const ofTarpit = (): LeasedRepository[] => started.filter(({ hostId }) => slow.has(hostId));
  await eventually(() => expect(ofCalm()).toHaveLength(1), patient);
  await eventually(() => expect(ofTarpit()).toHaveLength(8), patient);
  await wake(calm, 'b/b');
  await eventually(() => expect(ofCalm()).toHaveLength(2), patient);
  expect(ofTarpit()).toHaveLength(8);
});

it('whoever has the fewest leases comes first, and the rest of a tenant waits for one of its own', async () => {
  const limits = { leaseMs: 60_000, perHost: 2, perTenant: 3 };
  const lease = (): Promise<LeasedRepository | null> =>
    inTransaction(process.database, (manager) => leaseRepository(manager, limits));
  const [first, second] = (await addHosts('one', 2)) as [string, string];
  const [other] = (await addHosts('other', 1)) as [string];
  for (const hostId of [first, second]) for (const path of ['a/a', 'b/b', 'c/c']) await wake(hostId, path);
  await wake(other, 'a/a');
  const leased = [await lease(), await lease(), await lease(), await lease()].map((each) => each?.hostId);
  expect(leased).toEqual([first, other, first, second]);
  expect(await lease()).toBeNull();
});
