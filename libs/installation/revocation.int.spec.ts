import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { ClientEntry, ClusterEntry } from '@fairlead/contracts';
import { readPeerCertificate } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import {
  startRecordingApiServer,
  startTcpTarget,
  type RecordingApiServer,
  type TcpTarget,
} from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientCertificate, connectThrough, type ClientCertificate, type ConnectAnswer } from './connect-client.js';
import { callDoor, openDoor } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let target: TcpTarget;
let a: Replica;
let b: Replica;
let client: ClientEntry;
let certificate: ClientCertificate;

beforeAll(async () => {
  installation = await startInstallation();
  [api, target] = await Promise.all([startRecordingApiServer(installation.authority), startTcpTarget()]);
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
  client = await installation.addClient(null);
  certificate = await clientCertificate(installation.authority, client.clientId);
  api.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED"}\n');
  };
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

const agentOf = (cluster: ClusterEntry, links = 2): Promise<RunningAgent> =>
  installation.startAgent({ replicas: [a, b], links, cluster, apiPort: api.port, allowTargets: ['127.0.0.1:*'] });

const refusals = (replica: Replica): string[] => replica.refusals.map(({ code }) => code);

/** A watch through the Kubernetes API door. Resolves once an event came; `broken` with true when it broke off. */
async function watch(replica: Replica, { name }: ClusterEntry): Promise<{ broken: Promise<boolean> }> {
  const outgoing = openDoor(installation, replica, { path: `/clusters/${name}/api/v1/pods?watch=true` });
  outgoing.on('error', () => undefined);
  outgoing.end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  await once(answer, 'data');
  answer.resume();
  return { broken: new Promise((resolve) => answer.once('close', () => resolve(!answer.complete))) };
}

function tunnel(replica: Replica, { name }: ClusterEntry): Promise<ConnectAnswer> {
  const { authority } = installation;
  return connectThrough(replica, { authority, certificate, target: `127.0.0.1:${target.port}`, user: name });
}

/** Resolves when the connection is over, whatever ended it. */
function over({ plain }: ConnectAnswer): Promise<boolean> {
  return new Promise((resolve) => {
    if (plain.closed) resolve(true);
    else plain.once('close', () => resolve(true));
  });
}

describe('a cluster whose enrolment is revoked', () => {
  it('loses its watches and raw tunnels through both replicas at once, and nobody else notices', async () => {
    const lost = await installation.addCluster('lost');
    const kept = await installation.addCluster('kept');
    const [agent] = await Promise.all([agentOf(lost), agentOf(kept)]);
    const gone = await Promise.all([watch(a, lost), watch(b, lost)]);
    const tunnels = await Promise.all([tunnel(a, lost), tunnel(b, lost)]);
    const others = await Promise.all([tunnel(a, kept), tunnel(b, kept)]);
    expect([...tunnels, ...others].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await installation.revokeCluster(lost);
    // They end, and are not broken off: their way is gone, and not their user's access (ADR 43).
    expect(await Promise.all(gone.map(({ broken }) => broken))).toEqual([false, false]);
    expect(await Promise.all(tunnels.map(over))).toEqual([true, true]);
    // It comes back at once, and is told why it may not.
    await eventually(() => {
      for (const replica of [a, b]) expect(refusals(replica)).toContain('CERTIFICATE_REVOKED');
    });
    expect(agent.agent.readiness()).toMatchObject([{ name: 'links', ok: false }]);
    expect((await callDoor(installation, a, { path: '/clusters/lost/api' })).status).toBe(503);
    expect(others.map(({ plain }) => plain.closed)).toEqual([false, false]);
    for (const other of others) other.plain.destroy();
  });

  it('comes back with its next enrolment', async () => {
    const cluster = await installation.addCluster('again');
    const first = await agentOf(cluster, 1);
    await installation.revokeCluster(cluster);
    await eventually(() => expect(first.agent.readiness()).toMatchObject([{ ok: false }]));
    await agentOf({ ...cluster, generation: 2 }, 1);
  });
});

describe('one certificate that is revoked', () => {
  it('of an agent ends the links it was shown for, on every replica', async () => {
    const cluster = await installation.addCluster('copied');
    const agent = await agentOf(cluster);
    const { chainPem } = JSON.parse(agent.stored['identity'] ?? '{}') as { chainPem: string[] };
    const peer = readPeerCertificate(new X509Certificate(chainPem[0] ?? '').raw);
    const open = await tunnel(b, cluster);
    await installation.revokeCertificate(peer);
    await over(open);
    await eventually(() => expect(agent.agent.readiness()).toMatchObject([{ ok: false }]));
  });

  it('of a client ends its connections, and its other certificates go on', async () => {
    const cluster = await installation.addCluster('reached');
    await agentOf(cluster);
    const stolen = await clientCertificate(installation.authority, client.clientId);
    const { authority } = installation;
    const call = { authority, target: `127.0.0.1:${target.port}`, user: cluster.name };
    const open = await connectThrough(a, { ...call, certificate: stolen });
    const own = await tunnel(a, cluster);
    await installation.revokeCertificate(readPeerCertificate(new X509Certificate(stolen.cert).raw));
    await over(open);
    await eventually(async () => {
      const { status, head } = await connectThrough(a, { ...call, certificate: stolen });
      expect([status, /^Fairlead-Reason: (\S+)/im.exec(head)?.[1]]).toEqual([403, 'CERTIFICATE_REVOKED']);
    });
    expect(own.plain.closed).toBe(false);
    own.plain.destroy();
  });
});

describe('a certificate that has ended', () => {
  it('is renewed without being shown, and its agent is back', async () => {
    const cluster = await installation.addCluster('away');
    const notAfter = new Date(Date.now() - 3_600_000);
    const links = { replicas: [a, b], links: 2, cluster, apiPort: api.port, notAfter };
    const agent = await installation.startAgent(links);
    const { chainPem } = JSON.parse(agent.stored['identity'] ?? '{}') as { chainPem: string[] };
    expect(new X509Certificate(chainPem[0] ?? '').validToDate.getTime()).toBeGreaterThan(Date.now());
  });

  it('of a revoked enrolment is not', async () => {
    const cluster = await installation.addCluster('away-revoked');
    await installation.revokeCluster(cluster);
    const notAfter = new Date(Date.now() - 3_600_000);
    const expectRefusal = true;
    const before = JSON.stringify(notAfter);
    const agent = await installation.startAgent({ replicas: [a], cluster, apiPort: api.port, notAfter, expectRefusal });
    await eventually(() => expect(agent.agent.readiness()).toMatchObject([{ ok: false }]));
    const { chainPem } = JSON.parse(agent.stored['identity'] ?? '{}') as { chainPem: string[] };
    expect(JSON.stringify(new X509Certificate(chainPem[0] ?? '').validToDate).slice(0, 18)).toBe(before.slice(0, 18));
  });
});
