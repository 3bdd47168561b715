import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { createGatewayMetrics } from '@fairlead/gateway/parts';
import { Registry, noTracer, silentLogger } from '@fairlead/observability';
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
  socket.resume();
  await once(socket, 'secureConnect');
  return socket;
}

const peerOf = (socket: TLSSocket): PeerCertificate =>
  readPeerCertificate((socket.getPeerX509Certificate() as X509Certificate).raw);
const closed = (socket: TLSSocket): Promise<unknown> => (socket.closed ? Promise.resolve() : once(socket, 'close'));

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
  const standing = await tunnel();
  revoked.add(readPeerCertificate(new X509Certificate(certificate.chainPem).raw).serial);
  await eventually(() => {
    if (!standing.destroyed) throw new Error('it stands');
  });
  await expect(tunnel()).rejects.toMatchObject({
    code: 'UNTRUSTED_PEER',
    message: expect.stringContaining('revoked') as string,
  });
  client.close();
  await server.close();
});

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
