import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:tls';
import type { ClientEntry } from '@fairlead/contracts';
import { formatToken, rootOf } from '@fairlead/pki';
import { eventually, testAuthority } from '@fairlead/testing';
import {
  startRecordingApiServer,
  startTcpTarget,
  type RecordingApiServer,
  type TcpTarget,
} from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientCertificate, connectThrough } from './connect-client.js';
import { callDoor, openDoor } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { RunningAgent } from './test-agent.js';
import { TestCa } from './test-ca.js';

/** The certificate of the agent that stays: so short that it replaces it within seconds of another root's becoming active. */
const LIFE_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;

let installation: TestInstallation;
let api: RecordingApiServer;
let target: TcpTarget;
let a: Replica;
let b: Replica;
let agent: RunningAgent;
let client: ClientEntry;
/** Links and a watch that were there before anything changed. */
let links: string[];
let watch: { broken: boolean };
let oldRoot: string;
let nextRoot: string;

interface View {
  readonly trustVersion: number;
  readonly sessions: readonly {
    readonly sessionId: string;
    readonly clusterId: string;
    readonly trustVersion: number;
  }[];
  readonly routes: readonly { readonly key: string; readonly trustVersion?: number }[];
}

const view = ({ gateway }: Replica): View => gateway.debugView() as View;
const linksOf = (clusterId: string): string[] =>
  [a, b]
    .flatMap((replica) => view(replica).sessions)
    .filter((session) => session.clusterId === clusterId)
    .map(({ sessionId }) => sessionId)
    .toSorted();

interface Stored {
  readonly rootsPem: string[];
  readonly chainPem: string[];
  readonly trustVersion: number;
}
const stored = (running: RunningAgent): Stored => JSON.parse(running.stored['identity'] ?? '{}') as Stored;
const ownRoot = (running: RunningAgent): string | null => rootOf(stored(running).chainPem, stored(running).rootsPem);

beforeAll(async () => {
  installation = await startInstallation();
  [api, target] = await Promise.all([startRecordingApiServer(installation.authority), startTcpTarget()]);
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
  oldRoot = installation.authority.roots[0] as string;
  client = await installation.addClient(null);
  const notAfter = new Date(Date.now() + LIFE_MS);
  agent = await installation.startAgent({ replicas: [a, b], links: 2, apiPort: api.port, notAfter });
  links = linksOf(installation.cluster.clusterId);
  watch = await openWatch();
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

async function openWatch(): Promise<{ broken: boolean }> {
  api.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED"}\n');
  };
  const outgoing = openDoor(installation, a, { path: '/clusters/demo/api/v1/pods?watch=true' });
  outgoing.end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const opened = { broken: false };
  answer.on('error', () => undefined).once('close', () => (opened.broken = true));
  await once(answer, 'data');
  answer.resume();
  api.handle = (_request, response) => void response.end('whole');
  return opened;
}

/** Does this port prove itself to somebody who trusts this root alone? */
async function proves(address: string, rootPem: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  const socket = connect({
    host,
    port: Number(port),
    ca: [rootPem],
    ALPNProtocols: ['h2'],
    checkServerIdentity: () => undefined,
  });
  socket.on('error', () => undefined);
  const proven = await new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true)).once('close', () => resolve(false));
  });
  socket.destroy();
  return proven;
}

/** What the agent that stays, its links and both replicas are after a step. */
async function settled(version: number, roots: readonly string[]): Promise<void> {
  const { clusterId } = installation.cluster;
  await eventually(() => {
    expect(stored(agent)).toMatchObject({ trustVersion: version, rootsPem: roots });
    for (const replica of [a, b]) {
      expect(view(replica).trustVersion).toBe(version);
      expect(installation.ca.acknowledged).toContainEqual({ replica: replica.name, clusterId, version });
      // Its own heartbeat and the other's.
      const beats = view(replica).routes.filter(({ key }) => key.startsWith('gateway.'));
      expect(beats.map(({ trustVersion }) => trustVersion)).toEqual([version, version]);
    }
  });
  expect(linksOf(clusterId)).toEqual(links);
  expect(watch.broken).toBe(false);
  for (const replica of [a, b]) expect(await callDoor(installation, replica)).toMatchObject({ status: 200 });
}

/** Trust bundles that a replica refused. */
async function refused(registry: Replica['registry']): Promise<number> {
  const text = await registry.getSingleMetricAsString('fairlead_gateway_trust_refused_total');
  return [...text.matchAll(/^fairlead_gateway_trust_refused_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

/** As a manifest from before the rotation has it. */
const tokenOf = (clusterId: string): string =>
  formatToken({ pin: installation.authority.pins[0] as string, id: clusterId, secret: Buffer.alloc(32, 7) });

async function clientIsLetIn(authority: Parameters<typeof clientCertificate>[0]): Promise<boolean> {
  const certificate = await clientCertificate(authority, client.clientId);
  const answer = await connectThrough(a, {
    authority: installation.authority,
    certificate,
    target: '127.0.0.1:1',
    user: 'demo',
  }).catch(() => null);
  answer?.socket.destroy();
  return answer !== null;
}

const nextAuthority = () => ({
  ...installation.authority,
  issuing: installation.ca.issuing,
  root: { certificatePem: nextRoot, privateKeyPem: '' },
});

it('prepare: both replicas and the agent hold both roots, and say so once', async () => {
  await settled(1, [oldRoot]);
  await installation.ca.prepare();
  nextRoot = installation.ca.roots[1] as string;
  await installation.publishTrust();
  await settled(2, [oldRoot, nextRoot]);
  expect(ownRoot(agent)).toBe(oldRoot);
  expect(new Set(installation.ca.acknowledged.map((one) => JSON.stringify(one))).size).toBe(
    installation.ca.acknowledged.length,
  );
});

it('activate: replicas and agent replace their certificates soon, and no link is dropped', async () => {
  await installation.ca.activate();
  await installation.publishTrust();
  await settled(3, [nextRoot, oldRoot]);
  await eventually(
    async () => {
      for (const { gateway } of [a, b]) expect(await proves(gateway.link.address, nextRoot)).toBe(true);
      expect(ownRoot(agent)).toBe(nextRoot);
    },
    { timeoutMs: 30_000 },
  );
  for (const { gateway } of [a, b]) expect(await proves(gateway.link.address, oldRoot)).toBe(true);
  await settled(3, [nextRoot, oldRoot]);
  expect([await clientIsLetIn(installation.authority), await clientIsLetIn(nextAuthority())]).toEqual([true, true]);
});

it('meanwhile: a token from before it still enrols, and the other replica relays to what links then', async () => {
  const cluster = await installation.addCluster('enrolled-late');
  const token = tokenOf(cluster.clusterId);
  const late = await installation.startAgent({ replicas: [a], cluster, apiPort: api.port, token });
  expect(stored(late)).toMatchObject({ trustVersion: 3, rootsPem: [nextRoot, oldRoot] });
  await eventually(async () => {
    expect(await callDoor(installation, b, { path: '/clusters/enrolled-late/api' })).toMatchObject({ status: 200 });
  });
  await late.stop();
});

it('meanwhile: an agent that was away for all of it, whose certificate has ended, comes back', async () => {
  const cluster = await installation.addCluster('away');
  const notAfter = new Date(Date.now() - HOUR_MS);
  const away = await installation.startAgent({ replicas: [a, b], links: 2, cluster, apiPort: api.port, notAfter });
  expect(stored(away)).toMatchObject({ trustVersion: 3, rootsPem: [nextRoot, oldRoot] });
  expect(ownRoot(away)).toBe(nextRoot);
  await eventually(() => {
    expect(installation.ca.acknowledged.filter(({ clusterId }) => clusterId === cluster.clusterId)).toMatchObject([
      { version: 3 },
      { version: 3 },
    ]);
  });
  await away.stop();
}, 60_000);

it('meanwhile: bundles that are forged or old, and a bucket that lost its data, change nothing at replicas and agents', async () => {
  const { ca } = installation;
  const theirs = await testAuthority();
  const gateway = await installation.authority.gateway('keys');
  const signer = { keyPem: gateway.privateKeyPem, chainPem: gateway.chain.slice(0, -1) };
  const genuine = await ca.bundle();
  const forged = await Promise.all([
    ca.bundle({ version: 9, roots: theirs.roots, signer }),
    new TestCa(theirs).bundle({ version: 9 }),
    ca.bundle({ version: 2, roots: [oldRoot, nextRoot] }),
    ca.bundle({ roots: [oldRoot] }),
    ca.bundle({ version: 9, roots: theirs.roots }).then(({ bundle }) => ({ ...genuine, bundle })),
  ]);
  for (const [count, entry] of forged.entries()) {
    await installation.publishTrust(entry);
    await eventually(async () => {
      for (const { registry } of [a, b]) expect(await refused(registry)).toBe(count + 1);
    });
  }
  await installation.loseTrust();
  const late = await installation.startAgent({ replicas: [a, b], links: 2, apiPort: api.port, trustVersion: 0 });
  await eventually(() => expect(stored(late)).toMatchObject({ trustVersion: 3, rootsPem: [nextRoot, oldRoot] }));
  await late.stop();
  await eventually(() => expect(linksOf(installation.cluster.clusterId)).toEqual(links));
  for (const { gateway: replica } of [a, b]) expect(replica.readiness().filter(({ ok }) => !ok)).toEqual([]);
  await settled(3, [nextRoot, oldRoot]);
  await installation.publishTrust();
});

it('retire: what is of the old root alone counts for nothing, and no link is dropped', async () => {
  installation.ca.retire();
  await installation.publishTrust();
  await settled(4, [nextRoot]);
  expect([await clientIsLetIn(installation.authority), await clientIsLetIn(nextAuthority())]).toEqual([false, true]);
});

it('afterwards: an agent that was away for longer says how it comes back, and tries slowly', async () => {
  await eventually(async () => {
    for (const { gateway } of [a, b]) expect(await proves(gateway.link.address, oldRoot)).toBe(false);
  });
  const cluster = await installation.addCluster('lost');
  const lost = await installation.startAgent({ replicas: [a], cluster, apiPort: api.port, expectRefusal: true });
  await eventually(() => expect(lost.agent.readiness()[0]?.detail).toContain('no gateway proves itself'));
  expect(linksOf(cluster.clusterId)).toEqual([]);
  expect(stored(lost)).toMatchObject({ trustVersion: 1, rootsPem: [oldRoot] });
  await lost.stop();
}, 60_000);
