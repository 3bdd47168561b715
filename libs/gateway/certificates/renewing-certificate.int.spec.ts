import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { Http2Server } from '@fairlead/http2';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { Registry, noTracer, silentLogger } from '@fairlead/observability';
import { eventually, testAuthority, type TestAuthority, type TestCertificate } from '@fairlead/testing';
import { SessionRegistry, createRelayServer } from '@fairlead/tunnel/gateway';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGatewayMetrics } from '../status/gateway-metrics.js';
import { RenewingCertificate } from './renewing-certificate.js';

let authority: TestAuthority;
let server: Http2Server;
let refusals: string[];
const stopping = new AbortController();

beforeAll(async () => {
  authority = await testAuthority();
  refusals = [];
  // Due at two thirds of three seconds, so that the second one comes while the test looks on.
  const obtain = async () => {
    const window = { notBefore: new Date(), notAfter: new Date(Date.now() + 3_000) };
    const { privateKeyPem, chain } = await authority.gateway('gateway-a', window);
    return { keyPem: privateKeyPem, chainPem: chain, rootsPem: authority.roots, ...window };
  };
  const identity = new RenewingCertificate('identity', obtain, silentLogger);
  await identity.start(stopping.signal);
  server = createRelayServer({
    revoked: { has: () => false, onChange: () => undefined },
    identity,
    trustDomain: authority.trustDomain,
    registry: new SessionRegistry(),
    metrics: createGatewayMetrics(new Registry()),
    logger: silentLogger,
    tracer: noTracer,
    events: {
      accessRefused: ({ reason }) => void refusals.push(reason),
    },
  });
  server.tls.listen(0, '127.0.0.1');
  await once(server.tls, 'listening');
});

afterAll(() => {
  stopping.abort();
  void server.close();
});

function dial(client?: TestCertificate, version: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3'): TLSSocket {
  const socket = connect({
    host: '127.0.0.1',
    port: (server.tls.address() as AddressInfo).port,
    ALPNProtocols: ['h2'],
    rejectUnauthorized: false,
    maxVersion: version,
    ...(client ? { key: client.privateKeyPem, cert: client.chainPem } : {}),
  });
  socket.on('error', () => undefined);
  return socket;
}

/** Over HTTP/2, which answers pings: who is silent for eight seconds is ended. */
function dialHttp2(client?: TestCertificate, version?: 'TLSv1.2' | 'TLSv1.3'): ClientHttp2Session {
  const session = connectHttp2('https://127.0.0.1', { createConnection: () => dial(client, version) });
  return session.on('error', () => undefined);
}

/** Does the server keep a connection that it was willing to shake hands with? It answers on it then, which is more than to speak first. */
async function isLetIn(client?: TestCertificate, version?: 'TLSv1.2' | 'TLSv1.3'): Promise<boolean> {
  const session = dialHttp2(client, version);
  const outcome = await new Promise<boolean>((resolve) => {
    session.once('close', () => resolve(false));
    session.once('connect', () => {
      if (!session.destroyed) session.ping((error) => resolve(error === null));
    });
  });
  session.destroy();
  return outcome;
}

const serial = async (): Promise<string> => {
  const socket = dial(await authority.gateway('gateway-b'));
  await once(socket, 'secureConnect');
  const found = socket.getPeerCertificate().serialNumber;
  socket.destroy();
  return found;
};

it('replaces a replica’s certificate for new connections, and nothing else of what it demands', async () => {
  const [replica, agent] = [
    await authority.gateway('gateway-b'),
    await authority.agent('c0ffee00-0000-4000-8000-000000000000'),
  ];
  const hour = 3_600_000;
  const expired = { notBefore: new Date(Date.now() - 2 * hour), notAfter: new Date(Date.now() - hour) };
  const old = await authority.gateway('gateway-b', expired);
  const standing = dialHttp2(replica);
  await once(standing, 'remoteSettings');
  const before = await serial();
  for (const round of ['first', 'renewed']) {
    expect([round, await isLetIn(replica)]).toEqual([round, true]);
    expect([round, await isLetIn(agent)]).toEqual([round, false]);
    expect([round, await isLetIn(old)]).toEqual([round, false]);
    expect([round, await isLetIn()]).toEqual([round, false]);
    expect([round, await isLetIn(replica, 'TLSv1.2')]).toEqual([round, false]);
    if (round === 'first') await eventually(async () => assert.notEqual(await serial(), before));
  }
  expect([standing.closed, standing.destroyed]).toEqual([false, false]);
  expect(refusals).toContain('the certificate is not a gateway’s');
  standing.destroy();
});
