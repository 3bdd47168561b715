import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as netConnect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connect } from 'node:tls';
import type { LogLevel } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { readPeerCertificate } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let a: Replica;
let b: Replica;
const sockets: Socket[] = [];
const proxies: Server[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const proxy of proxies) proxy.close();
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

/** Carries what agents say at once, and what the gateway says only from `letGo` on: its handshake has begun by then. */
async function stallingProxy(port: number): Promise<{ address: string; stalled: () => boolean; letGo: () => void }> {
  const answers: (() => void)[] = [];
  let free = false;
  const proxy = createServer((agent) => {
    const gateway = netConnect(port, '127.0.0.1');
    for (const socket of [agent, gateway]) sockets.push(socket.on('error', () => undefined));
    agent.pipe(gateway);
    if (free) gateway.pipe(agent);
    else gateway.once('readable', () => answers.push(() => gateway.pipe(agent)));
  });
  proxies.push(proxy);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    stalled: () => answers.length > 0,
    letGo: () => {
      free = true;
      for (const answer of answers) answer();
    },
  };
}

async function serialOf({ gateway }: Replica): Promise<string> {
  const ca = [...installation.authority.roots];
  const tls = { ca, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
  const socket = connect({ host: '127.0.0.1', port: gateway.link.port, ...tls }).on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'secureConnect');
  const { serial } = readPeerCertificate((socket.getPeerX509Certificate() as X509Certificate).raw);
  socket.destroy();
  return serial;
}

it('an agent makes no link to who shows a certificate that was revoked during the handshake', async () => {
  const failures: unknown[] = [];
  const record = (_level: LogLevel, event: string, fields: object = {}): void =>
    void (event === 'link.failed' && failures.push(fields));
  const logger: Logger = { ...silentLogger, log: record, with: () => logger };
  const serial = await serialOf(a);
  const proxy = await stallingProxy(a.gateway.link.port);
  const running = await installation.startAgent({
    replicas: [a, b],
    endpoints: [proxy.address, b.gateway.link.address],
    links: 2,
    apiPort: api.port,
    logger,
    trustVersion: 1,
    expectRefusal: true,
  });
  const links = (): string => running.agent.readiness()[0]?.detail ?? '';
  await eventually(() => expect([links().slice(0, 6), proxy.stalled()]).toEqual(['1 of 2', true]), { intervalMs: 5 });
  installation.ca.version += 1;
  await installation.publishTrust(await installation.ca.bundle({ revokedGateways: [serial] }));
  await eventually(
    () => expect(JSON.parse(running.stored['identity'] ?? '{}')).toMatchObject({ revokedGateways: [serial] }),
    { timeoutMs: 8_000, intervalMs: 5 },
  );
  // The dial of before goes on, and was checked by the list of before.
  expect(failures).toEqual([]);
  proxy.letGo();
  await eventually(() => {
    const refused = { code: 'UNTRUSTED_PEER', reason: expect.stringContaining('revoked') as string };
    expect(failures).toContainEqual(expect.objectContaining(refused));
  });
  expect(links()).toMatch(/^1 of 2/);
});
