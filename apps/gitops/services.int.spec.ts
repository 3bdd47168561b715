import { createHash } from 'node:crypto';
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
import { serviceProcesses, type ServiceProcesses } from '@fairlead/service/testing';
import { eventually as poll } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { z } from 'zod';

const SERVICES = ['keys', 'registration', 'gitops'] as const;
const api = { role: 'api', credential: 'api' } as const;
const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const actor = 'admin@example.com';

// Starting seven processes on a busy machine takes its time.
vi.setConfig({ testTimeout: 180_000 });
const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 60_000 });

let services: ServiceProcesses<(typeof SERVICES)[number]>;
let asApi: RpcClient;
let asGateway: RpcClient;
let desired: KvSnapshot<z.infer<typeof DesiredEntry>>;
let clusterId: string;

beforeAll(async () => {
  services = await serviceProcesses(SERVICES);
  asApi = createRpcClient(await services.nats.connect(api), api);
  const connection = await services.nats.connect(gateway);
  asGateway = createRpcClient(connection, gateway);
  desired = watchBucket(connection, BUCKETS.desired, DesiredEntry);
});
afterAll(async () => {
  await desired?.close();
  await services?.[Symbol.asyncDispose]();
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
  const wrong = services.run('gitops', [], { FAIRLEAD_NATS_URL: '', FAIRLEAD_BREAKER_SHARE: '2' });
  expect(await wrong.exited).toBe(2);
  expect(wrong.output()).toMatch(/NATS_URL: is not set\n.*BREAKER_SHARE/);
});

it('waits for its migrations, then serves', async () => {
  for (const service of SERVICES) services.start(service);
  await eventually(() => expect(services.started.get('gitops')?.output()).toContain('migrations.pending'));
  for (const service of SERVICES) expect(await services.migrate(service)).toEqual([0, 0]);
  await services.untilAllReady();
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
  const { nats, postgres } = services;
  nats.server.kill('SIGKILL');
  postgres.kill('SIGKILL');
  await nats.server.restart();
  await postgres.restart();
  await services.untilAllReady();
  await eventually(async () => expect(await stateOf()).toEqual(before));
  const { child, exited } = services.started.get('gitops')!;
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  services.start('gitops');
  await services.untilReady('gitops');
  expect(await stateOf()).toEqual(before);
});
