import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { createGatewayMetrics } from '@fairlead/gateway/parts';
import type { LogLevel } from '@fairlead/errors';
import { Registry, noTracer, silentLogger, type Logger } from '@fairlead/observability';
import { readPeerCertificate, type PeerCertificate } from '@fairlead/pki';
import { eventually, type TestCertificate } from '@fairlead/testing';
import {
  RelayClient,
  SessionRegistry,
  createRelayServer,
  type CertificateSource,
  type RevokedCertificates,
} from '@fairlead/tunnel/gateway';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callDoor } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let a: Replica;
let b: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
  await installation.startAgent({ replicas: [b], apiPort: api.port });
  await eventually(async () => expectOk(await callDoor(installation, a)));
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

function expectOk({ status, body }: { status: number; body: string }): void {
  if (status !== 200) throw new Error(`${status} ${body}`);
}

/** To a replica's own door, as another replica. */
async function dialRelay(
  { gateway }: Replica,
  { privateKeyPem: key, chainPem: cert }: TestCertificate,
): Promise<TLSSocket> {
  const [host = '', port = ''] = gateway.relay.address.split(':');
  const ca = [...installation.authority.roots];
  const tls = { host, port: Number(port), ca, key, cert, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
  const socket = connect(tls).on('error', () => undefined);
  // Answers pings, however long a test takes: who is silent for eight seconds is ended.
  connectHttp2('https://127.0.0.1', { createConnection: () => socket }).on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

const peerOf = (socket: TLSSocket): PeerCertificate =>
  readPeerCertificate((socket.getPeerX509Certificate() as X509Certificate).raw);
/** Also of a connection that is reset. */
const closed = async (socket: TLSSocket): Promise<void> => {
  if (!socket.closed) await new Promise((resolve) => void socket.once('close', resolve));
};

it('who shows a gateway’s certificate that was revoked loses what stands, and gets nothing new', async () => {
  const stolen = await installation.authority.gateway('gateway-c');
  const own = await installation.authority.gateway('gateway-c');
  const [standing, kept] = [await dialRelay(b, stolen), await dialRelay(b, own)];
  await installation.revokeCertificate(readPeerCertificate(new X509Certificate(stolen.chainPem).raw));
  await closed(standing);
  await closed(await dialRelay(b, stolen));
  const told = b.refusals.filter(({ door }) => door === 'relay').map(({ code }) => code);
  expect(told).toEqual(['CERTIFICATE_REVOKED', 'CERTIFICATE_REVOKED']);
  expect(kept.closed).toBe(false);
  kept.destroy();
});

it('a replica whose certificate was revoked gets another, and others relay to it again', async () => {
  const certificate = await installation.authority.gateway('gateway-c');
  const first = await dialRelay(b, certificate);
  const peer = peerOf(first);
  const { serial } = peer;
  first.destroy();
  await installation.revokeCertificate(peer);
  await eventually(
    async () => {
      const again = await dialRelay(b, certificate);
      const shown = peerOf(again).serial;
      again.destroy();
      if (shown === serial) throw new Error('it shows the same one');
    },
    { timeoutMs: 30_000 },
  );
  await eventually(async () => expectOk(await callDoor(installation, a)), { timeoutMs: 30_000 });
});

it('a replica relays nothing to who shows a revoked certificate, and ends what stands', async () => {
  const { authority } = installation;
  const certificate = await authority.gateway('gateway-b');
  const revoked = new RevokedBySerial();
  const server = createRelayServer({
    identity: sourceOf(certificate),
    trustDomain: authority.trustDomain,
    registry: new SessionRegistry(),
    revoked: new RevokedBySerial(),
    metrics: createGatewayMetrics(new Registry()),
    logger: silentLogger,
    tracer: noTracer,
    events: { accessRefused: () => undefined },
  });
  server.tls.listen(0, '127.0.0.1');
  await once(server.tls, 'listening');
  const client = new RelayClient(
    sourceOf(await authority.gateway('gateway-a')),
    authority.trustDomain,
    revoked,
    silentLogger,
  );
  const relayAddress = `127.0.0.1:${(server.tls.address() as AddressInfo).port}`;
  const tunnel = () => client.tunnel({ credential: 'gateway-b', instance: 'b', relayAddress });
  // A dial has three seconds, which a busy machine may take from it.
  const standing = await eventually(tunnel);
  // Somebody else's, and one that this gateway had before: each asks for a look at what stands, which is to be ended by the last one only.
  const other = await authority.gateway('gateway-b');
  for (const serial of ['ab12', serialOf(other)]) {
    revoked.add(serial);
    await setImmediate();
    expect(await tunnel()).toMatchObject({ destroyed: false });
  }
  revoked.add(serialOf(certificate));
  await eventually(() => {
    if (!standing.destroyed) throw new Error('it stands');
  });
  const refused = { code: 'UNTRUSTED_PEER', message: expect.stringContaining('revoked') as string };
  await eventually(() => expect(tunnel()).rejects.toMatchObject(refused));
  client.close();
  await server.close();
});

it('an agent that was told ends its link to who shows a revoked certificate, and makes no other', async () => {
  const failures: unknown[] = [];
  const record = (_level: LogLevel, event: string, fields: object = {}): void =>
    void (event === 'link.failed' && failures.push(fields));
  const logger: Logger = { ...silentLogger, log: record, with: () => logger };
  const cluster = await installation.addCluster('told');
  const told = await installation.startAgent({
    replicas: [a, b],
    links: 2,
    cluster,
    apiPort: api.port,
    logger,
    trustVersion: 1,
  });
  const socket = connect({ ...linkOf(b), ca: [...installation.authority.roots], checkServerIdentity: () => undefined });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { serial } = peerOf(socket);
  socket.destroy();
  installation.ca.version += 1;
  // Replicas do not know of it here: it is the agent's own decision.
  await installation.publishTrust(await installation.ca.bundle({ revokedGateways: [serial] }));
  await eventually(
    () => {
      const [links] = told.agent.readiness();
      if (links?.detail?.startsWith('1 of 2') !== true) throw new Error(links?.detail);
      const refused = { code: 'UNTRUSTED_PEER', reason: expect.stringContaining('revoked') as string };
      expect(failures).toContainEqual(expect.objectContaining(refused));
    },
    { timeoutMs: 30_000 },
  );
  expect(told.agent.readiness()).toMatchObject([{ name: 'links', ok: true }]);
  expect(JSON.parse(told.stored['identity'] ?? '{}')).toMatchObject({ trustVersion: 2, revokedGateways: [serial] });
});

const serialOf = ({ chainPem }: TestCertificate): string =>
  readPeerCertificate(new X509Certificate(chainPem).raw).serial;

function linkOf({ gateway }: Replica): { host: string; port: number; ALPNProtocols: string[] } {
  return { host: '127.0.0.1', port: gateway.link.port, ALPNProtocols: ['h2'] };
}

class RevokedBySerial implements RevokedCertificates {
  readonly #serials = new Set<string>();
  readonly #listeners: (() => void)[] = [];

  has({ serial }: PeerCertificate): boolean {
    return this.#serials.has(serial);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  add(serial: string): void {
    this.#serials.add(serial);
    for (const listener of this.#listeners) listener();
  }
}

function sourceOf({ privateKeyPem, chain }: TestCertificate): CertificateSource {
  const [notBefore, notAfter] = [new Date(), new Date(Date.now() + 3_600_000)];
  const current = {
    keyPem: privateKeyPem,
    chainPem: chain,
    rootsPem: installation.authority.roots,
    notBefore,
    notAfter,
  };
  return { current, onChange: (listener) => listener(current) };
}
