import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as netConnect } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { eventually, type TestCertificate } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

/** Of one address. */
const LIMIT = 256;
/** Of one cluster, for connections with its agent's certificate that are no links. */
const UNLINKED = 64;
/** Handshakes at once: the door drops who waited for eight seconds until it came to them. */
const BATCH = 32;

let installation: TestInstallation;
let replica: Replica;
const sockets: TLSSocket[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await installation?.[Symbol.asyncDispose]();
});

/** True once the gateway has begun to speak HTTP/2, false if it closes the connection without a word. */
async function isKept(localAddress: string, certificate?: TestCertificate): Promise<boolean> {
  const { port } = replica.gateway.link;
  const socket = connect({
    socket: netConnect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined),
    ca: [...installation.authority.roots],
    ALPNProtocols: ['h2'],
    checkServerIdentity: () => undefined,
    ...(certificate ? { key: certificate.privateKeyPem, cert: certificate.chainPem } : {}),
  });
  sockets.push(socket.on('error', () => undefined));
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(false)));
  // Answers pings, however long the others take to come: who is silent for eight seconds is ended, and counts no more.
  const session = connectHttp2('https://127.0.0.1', { createConnection: () => socket }).on('error', () => undefined);
  const heard = once(session, 'remoteSettings').then(
    () => true,
    () => false,
  );
  return Promise.race([closed, heard]);
}

/** How many of so many are kept. */
async function keptOf(count: number, isNextKept: () => Promise<boolean>): Promise<number> {
  let kept = 0;
  for (let left = count; left > 0; left -= BATCH) {
    const batch = await Promise.all(Array.from({ length: Math.min(BATCH, left) }, isNextKept));
    kept += batch.filter(Boolean).length;
  }
  return kept;
}

it('the unauthenticated from one address have their limit and no more, and keep out neither agents nor others', async () => {
  const unauthenticated = () => isKept('127.0.0.1');
  expect(await keptOf(LIMIT + 20, unauthenticated)).toBe(LIMIT);
  expect(await unauthenticated()).toBe(false);
  expect(await isKept('127.0.0.2')).toBe(true);
  const agent = await installation.authority.agent(installation.cluster.clusterId);
  expect(await keptOf(50, () => isKept('127.0.0.1', agent))).toBe(50);
  for (const socket of sockets.splice(0)) socket.destroy();
  await eventually(async () => expect(await unauthenticated()).toBe(true));
});

it('an agent that says no Hello has the limit of its cluster and no more, and who has linked takes none', async () => {
  const linked = await installation.startAgent({ replicas: [replica], apiPort: 1 });
  const own = await installation.authority.agent(installation.cluster.clusterId);
  const other = await installation.addCluster('unlinked');
  expect(await keptOf(UNLINKED + 20, () => isKept('127.0.0.1', own))).toBe(UNLINKED);
  expect(linked.agent.readiness()[0]?.detail).toMatch(/^1 of/);
  expect(await isKept('127.0.0.1', await installation.authority.agent(other.clusterId))).toBe(true);
  for (const socket of sockets.splice(0)) socket.destroy();
  await eventually(async () => expect(await isKept('127.0.0.1', own)).toBe(true));
  await linked.stop();
});

it.each([
  ['was fenced by a newer enrolment', async () => certificateOf(await installation.addCluster('fenced', 2), 1)],
  [
    'was revoked',
    async () => {
      const cluster = await installation.addCluster('revoked');
      await installation.revokeCluster(cluster);
      return certificateOf(cluster, 1);
    },
  ],
  ['is of no cluster', async () => installation.authority.agent(randomUUID())],
])('whose certificate %s is untrusted, and takes nothing of the limit of the cluster', async (_, make) => {
  const certificate = await make();
  // Until the replica has heard why, and until nobody is left of a try before.
  await eventually(
    async () => {
      try {
        expect(await keptOf(LIMIT + 20, () => isKept('127.0.0.3', certificate))).toBe(LIMIT);
      } finally {
        await leave();
      }
    },
    { timeoutMs: 60_000 },
  );
});

async function leave(): Promise<void> {
  const gone = sockets.splice(0).map(async (socket) => {
    if (socket.closed) return;
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    socket.destroy();
    await closed;
  });
  await Promise.all(gone);
}

function certificateOf({ clusterId }: { readonly clusterId: string }, generation: number): Promise<TestCertificate> {
  return installation.authority.agent(clusterId, { generation });
}
