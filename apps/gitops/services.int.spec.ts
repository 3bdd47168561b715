import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  BUCKETS,
  DEFAULT_TENANT,
  DesiredEntry,
  NO_TENANT,
  gitKeysRpc,
  gitopsRpc,
  keysRpc,
  registrationRpc,
  type ClusterGitOps,
} from '@fairlead/contracts';
import { openDesiredState, type DesiredState, type InstallerReport } from '@fairlead/desired-state';
import { fluxManifest, newPublicKey } from '@fairlead/gitops/testing';
import { createRpcClient, watchBucket, type KvSnapshot, type RpcClient } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { databaseUrl, provisionDatabase } from '@fairlead/persistence';
import { freePort, startPostgres, type PostgresInfo, type Running } from '@fairlead/testbed';
import { eventually as poll, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { z } from 'zod';

const SERVICES = ['keys', 'registration', 'gitops'] as const;
type Service = (typeof SERVICES)[number];
const api = { role: 'api', credential: 'api' } as const;
const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const actor = 'admin@example.com';

interface Process {
  readonly child: ChildProcess;
  output(): string;
  readonly exited: Promise<number | null>;
}

// Starting seven processes on a busy machine takes its time.
vi.setConfig({ testTimeout: 180_000 });
const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 60_000 });

let scratch: ScratchDir;
let postgres: Running<PostgresInfo>;
let nats: SecuredNats;
let asApi: RpcClient;
let asGateway: RpcClient;
let desired: KvSnapshot<z.infer<typeof DesiredEntry>>;
let clusterId: string;
const environments = new Map<Service, NodeJS.ProcessEnv>();
const running = new Map<Service, Process>();

beforeAll(async () => {
  scratch = await scratchDir();
  postgres = await startPostgres({ dataDir: scratch.file('pg'), log: () => undefined });
  nats = await startSecuredNats(scratch.path);
  const services = SERVICES.map((service) => ({ service, password: `a-password-of-${service}-0123456789` }));
  await provisionDatabase(postgres.info.adminUrl, { services });
  for (const account of services) environments.set(account.service, await environment(account));
  asApi = createRpcClient(await nats.connect(api), api);
  const connection = await nats.connect(gateway);
  asGateway = createRpcClient(connection, gateway);
  desired = watchBucket(connection, BUCKETS.desired, DesiredEntry);
});
afterAll(async () => {
  for (const { child, exited } of running.values()) {
    child.kill('SIGKILL');
    await exited;
  }
  await desired?.close();
  await nats?.[Symbol.asyncDispose]();
  await postgres?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

async function environment(account: { service: Service; password: string }): Promise<NodeJS.ProcessEnv> {
  const secret = async (name: string, text: string): Promise<string> => {
    const path = scratch.file(`${account.service}-${name}`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  return {
    PATH: process.env['PATH'],
    FAIRLEAD_NATS_URL: nats.server.info.url,
    FAIRLEAD_NATS_SEED_FILE: nats.seedFile({ role: account.service, credential: account.service }),
    FAIRLEAD_HEALTH_LISTEN: `127.0.0.1:${await freePort()}`,
    FAIRLEAD_DATABASE_URL_FILE: await secret('url', databaseUrl(postgres.info.adminUrl, account)),
    FAIRLEAD_MASTER_KEY_FILE: scratch.file('master.key'),
    FAIRLEAD_GATEWAY_SERVING_NAMES: 'localhost,127.0.0.1',
    FAIRLEAD_LINK_ENDPOINTS: '127.0.0.1:7443',
    FAIRLEAD_AGENT_IMAGE: `registry.example.test/agent@sha256:${'0f'.repeat(32)}`,
    FAIRLEAD_INSTALLER_IMAGE: `registry.example.test/installer@sha256:${'0f'.repeat(32)}`,
    FAIRLEAD_ADMIN_TOKEN_FILE: await secret('admin', 'an-admin-token-of-more-than-32-characters'),
  };
}

function run(service: Service, args: string[] = [], overrides: NodeJS.ProcessEnv = {}): Process {
  const main = fileURLToPath(new URL(`../${service}/dist/bundle/main.js`, import.meta.url));
  const child = spawn(process.execPath, [main, ...args], { env: { ...environments.get(service), ...overrides } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child, output: () => output, exited };
}

const untilReady = (service: Service): Promise<void> =>
  eventually(async () => {
    const address = environments.get(service)?.['FAIRLEAD_HEALTH_LISTEN'];
    const response = await fetch(`http://${address}/readyz`, { signal: AbortSignal.timeout(10_000) });
    expect(await response.json()).toMatchObject({ ready: true });
  });

/** As an installer verifies it that holds the roots of the real CA. */
async function stateOf(): Promise<DesiredState | undefined> {
  const entry = desired.get(`${DEFAULT_TENANT}.${clusterId}`);
  if (!entry) return undefined;
  const { roots: rootsPem, trustDomain } = await asGateway.call(keysRpc.trustBundle, NO_TENANT, {});
  const bytes = (text: string): Uint8Array => Buffer.from(text, 'base64');
  const { document, signature, signerChain: signerChainPem } = entry;
  const signed = { document: bytes(document), signature: bytes(signature), signerChainPem };
  return openDesiredState(signed, { rootsPem, trustDomain, clusterId, at: new Date() });
}

const status = (): Promise<ClusterGitOps> => asApi.call(gitopsRpc.clusterStatus, DEFAULT_TENANT, { name: 'demo' });

it('says what is wrong with the configuration, once, and exits with 2', async () => {
  const wrong = run('gitops', [], { FAIRLEAD_NATS_URL: '', FAIRLEAD_BREAKER_SHARE: '2' });
  expect(await wrong.exited).toBe(2);
  expect(wrong.output()).toMatch(/NATS_URL: is not set\n.*BREAKER_SHARE/);
});

it('waits for its migrations, then serves', async () => {
  for (const service of SERVICES) running.set(service, run(service));
  await eventually(() => expect(running.get('gitops')?.output()).toContain('migrations.pending'));
  for (const service of SERVICES) {
    const migrations = [run(service, ['migrate']), run(service, ['migrate'])];
    expect(await Promise.all(migrations.map(({ exited }) => exited))).toEqual([0, 0]);
  }
  await Promise.all(SERVICES.map(untilReady));
});

it('wants of a cluster what its assignment says, signed by the keys service', async () => {
  ({ id: clusterId } = await asApi.call(registrationRpc.createCluster, DEFAULT_TENANT, { name: 'demo' }));
  const host = { name: 'manual', kind: 'manual' as const, sshHost: 'git.example.com', actor };
  await asApi.call(gitKeysRpc.putGitHost, DEFAULT_TENANT, host);
  const wanted = { name: 'catalog', gitHost: 'manual', path: 'platform/catalog', actor };
  await asApi.call(gitopsRpc.addRepository, DEFAULT_TENANT, wanted);
  const yaml = Buffer.from(fluxManifest());
  const digest = createHash('sha256').update(yaml).digest('hex');
  const bundle = {
    tool: 'flux' as const,
    version: 'v2.7.3',
    bytes: yaml.length,
    digest,
    origin: 'install.yaml',
    actor,
  };
  const { uploadId } = await asApi.call(gitopsRpc.beginBundle, DEFAULT_TENANT, bundle);
  const piece = { uploadId, offset: 0, piece: yaml.toString('base64') };
  await asApi.call(gitopsRpc.bundlePiece, DEFAULT_TENANT, piece);
  await asApi.call(gitopsRpc.finishBundle, DEFAULT_TENANT, { uploadId });
  await eventually(status);
  const spec = { selector: { cluster: 'demo' }, tool: 'flux' as const, bundleVersion: 'v2.7.3', repository: 'catalog' };
  const assignment = { name: 'demo', ...spec, branch: 'main', actor };
  await asApi.call(gitopsRpc.putAssignment, DEFAULT_TENANT, assignment);
  await eventually(async () =>
    expect(await stateOf()).toMatchObject({ revision: 1, gitops: { bundle: { digest }, source: null } }),
  );
  expect((await status()).waitsFor).toContain('SSH host keys');
});

it('follows the repository once its host key is approved, with a key that somebody adds by hand', async () => {
  const key = newPublicKey();
  const fingerprint = `SHA256:${createHash('sha256')
    .update(Buffer.from(key.split(' ')[1] ?? '', 'base64'))
    .digest('base64')
    .replace(/=+$/, '')}`;
  const approval = { name: 'manual', fingerprints: [fingerprint], keys: [key], actor };
  await asApi.call(gitKeysRpc.approveHostKeys, DEFAULT_TENANT, approval);
  await eventually(async () =>
    expect((await stateOf())?.gitops?.source).toMatchObject({
      url: expect.stringMatching(/^ssh:\/\/git@git\.example\.com\/platform\/catalog/) as string,
      knownHosts: [{ host: 'git.example.com', type: 'ssh-ed25519' }],
    }),
  );
  await report(newPublicKey(), null);
  await eventually(async () => expect((await stateOf())?.gitops?.deployKey.currentReady).toBe(true));
  expect((await status()).waitsFor).toMatch(/ssh-ed25519|deploy key/i);
});

async function report(publicKey: string, works: boolean | null): Promise<void> {
  const revision = (await stateOf())?.revision ?? 0;
  const said: InstallerReport = {
    version: 1,
    clusterId,
    installerVersion: '0.1.0',
    installerInstance: crypto.randomUUID(),
    observedRevision: revision,
    appliedRevision: revision,
    bundleDigest: null,
    wantedBundle: null,
    phase: 'healthy',
    problem: null,
    publicKeys: [{ number: 1, publicKey, works }],
    source: null,
    sync: null,
    functionalAt: null,
    events: [],
  };
  await asGateway.call(gitopsRpc.reportCluster, DEFAULT_TENANT, { clusterId, report: said });
}

it('comes back by itself after NATS and Postgres were killed, and stops on SIGTERM', async () => {
  const before = await stateOf();
  nats.server.kill('SIGKILL');
  postgres.kill('SIGKILL');
  await nats.server.restart();
  await postgres.restart();
  await Promise.all(SERVICES.map(untilReady));
  await eventually(async () => expect(await stateOf()).toEqual(before));
  const { child, exited } = running.get('gitops')!;
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  running.set('gitops', run('gitops'));
  await untilReady('gitops');
  expect(await stateOf()).toEqual(before);
});
