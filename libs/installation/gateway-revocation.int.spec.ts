import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import type { LogLevel } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { readPeerCertificate, type PeerCertificate } from '@fairlead/pki';
import { eventually, type TestCertificate } from '@fairlead/testing';
import type { RevokedCertificates } from '@fairlead/tunnel/gateway';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { untilAnswered } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import { closed, dialRelay, startRelayEnds } from './relay-ends.js';
import type { Replica } from './replicas.js';

let pair: ReplicaPair;

beforeAll(async () => {
  pair = await startReplicaPair();
  await pair.installation.startAgent({ replicas: [pair.b], apiPort: pair.api.port });
  await untilAnswered(pair.installation, pair.a);
});
afterAll(() => pair?.[Symbol.asyncDispose]());

/** As another replica that shows this certificate. */
async function dial(replica: Replica, certificate: TestCertificate): Promise<TLSSocket> {
  const socket = dialRelay(pair.installation, replica, certificate);
  await once(socket, 'secureConnect');
  return socket;
}

const peerOf = (socket: TLSSocket): PeerCertificate =>
  readPeerCertificate((socket.getPeerX509Certificate() as X509Certificate).raw);

it('who shows a gateway’s certificate that was revoked loses what stands, and gets nothing new', async () => {
  const stolen = await pair.installation.authority.gateway('gateway-c');
  const own = await pair.installation.authority.gateway('gateway-c');
  const [standing, kept] = [await dial(pair.b, stolen), await dial(pair.b, own)];
  await pair.installation.revokeCertificate(readPeerCertificate(new X509Certificate(stolen.chainPem).raw));
  await closed(standing);
  await closed(await dial(pair.b, stolen));
  const told = pair.b.refusals.filter(({ door }) => door === 'relay').map(({ code }) => code);
  expect(told).toEqual(['CERTIFICATE_REVOKED', 'CERTIFICATE_REVOKED']);
  expect(kept.closed).toBe(false);
  kept.destroy();
});

it('a replica whose certificate was revoked gets another, and others relay to it again', async () => {
  const certificate = await pair.installation.authority.gateway('gateway-c');
  const first = await dial(pair.b, certificate);
  const peer = peerOf(first);
  const { serial } = peer;
  first.destroy();
  await pair.installation.revokeCertificate(peer);
  await eventually(
    async () => {
      const again = await dial(pair.b, certificate);
      const shown = peerOf(again).serial;
      again.destroy();
      if (shown === serial) throw new Error('it shows the same one');
    },
    { timeoutMs: 30_000 },
  );
  await untilAnswered(pair.installation, pair.a, {}, { timeoutMs: 30_000 });
});

it('a replica relays nothing to who shows a revoked certificate, and ends what stands', async () => {
  const { authority } = pair.installation;
  const certificate = await authority.gateway('gateway-b');
  const revoked = new RevokedBySerial();
  await using ends = await startRelayEnds({
    trustDomain: authority.trustDomain,
    roots: authority.roots,
    server: certificate,
    client: await authority.gateway('gateway-a'),
    revoked,
  });
  // A dial has three seconds, which a busy machine may take from it.
  const standing = await eventually(() => ends.tunnel());
  // Somebody else's, and one that this gateway had before: each asks for a look at what stands, which is to be ended by the last one only.
  const other = await authority.gateway('gateway-b');
  for (const serial of ['ab12', serialOf(other)]) {
    revoked.add(serial);
    await setImmediate();
    expect(await ends.tunnel()).toMatchObject({ destroyed: false });
  }
  revoked.add(serialOf(certificate));
  await eventually(() => {
    if (!standing.destroyed) throw new Error('it stands');
  });
  const refused = { code: 'UNTRUSTED_PEER', message: expect.stringContaining('revoked') as string };
  await eventually(() => expect(ends.tunnel()).rejects.toMatchObject(refused));
});

it('an agent that was told ends its link to who shows a revoked certificate, and makes no other', async () => {
  const failures: unknown[] = [];
  const record = (_level: LogLevel, event: string, fields: object = {}): void =>
    void (event === 'link.failed' && failures.push(fields));
  const logger: Logger = { ...silentLogger, log: record, with: () => logger };
  const cluster = await pair.installation.addCluster('told');
  const told = await pair.installation.startAgent({
    replicas: [pair.a, pair.b],
    links: 2,
    cluster,
    apiPort: pair.api.port,
    logger,
    trustVersion: 1,
  });
  const socket = connect({
    ...linkOf(pair.b),
    ca: [...pair.installation.authority.roots],
    checkServerIdentity: () => undefined,
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { serial } = peerOf(socket);
  socket.destroy();
  pair.installation.ca.version += 1;
  // Replicas do not know of it here: it is the agent's own decision.
  await pair.installation.publishTrust(await pair.installation.ca.bundle({ revokedGateways: [serial] }));
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
