import { once } from 'node:events';
import { connect } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { createGatewayMetrics } from '@fairlead/gateway/parts';
import { Registry, noTracer, silentLogger } from '@fairlead/observability';
import { eventually, testAuthority, type TestAuthority, type TestCertificate } from '@fairlead/testing';
import { RelayClient, SessionRegistry, createRelayServer, type CertificateSource } from '@fairlead/tunnel/gateway';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
/** Another installation below the same corporate root, whoever runs it. */
let neighbour: TestAuthority;
let replica: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  neighbour = await testAuthority({ trustDomain: 'neighbour.example', below: installation.authority });
  replica = await installation.startReplica('gateway-a');
});

afterAll(() => installation?.[Symbol.asyncDispose]());

const otherDomain = expect.objectContaining({
  code: 'CERTIFICATE_REFUSED',
  reason: expect.stringContaining('another trust domain') as string,
}) as unknown;

it('an agent of another trust domain below our root gets no link', async () => {
  const neighbours = { replicas: [replica], apiPort: 1, certificateBy: neighbour, expectRefusal: true };
  await installation.startAgent(neighbours);
  await eventually(() => expect(replica.refusals).toContainEqual(otherDomain));
  expect(replica.refusals.find(({ door }) => door === 'link')).not.toHaveProperty('clusterId');
});

it('a gateway of another trust domain below our root is no replica of ours', async () => {
  const [host = '', port = ''] = replica.gateway.relay.address.split(':');
  const { privateKeyPem: key, chainPem: cert } = await neighbour.gateway('gateway-b');
  const ca = [...installation.authority.roots];
  const options = {
    host,
    port: Number(port),
    ca,
    key,
    cert,
    ALPNProtocols: ['h2'],
    checkServerIdentity: () => undefined,
  };
  const socket = connect(options).on('error', () => undefined);
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  expect(replica.refusals.filter(({ door }) => door === 'relay')).toEqual([otherDomain]);
});

it('a replica relays nothing to a gateway of another trust domain below our root', async () => {
  const relayTo = async (authority: TestAuthority): Promise<void> => {
    const server = createRelayServer({
      revoked: { has: () => false, onChange: () => undefined },
      identity: sourceOf(await authority.gateway('gateway-b'), authority),
      trustDomain: installation.authority.trustDomain,
      registry: new SessionRegistry(),
      metrics: createGatewayMetrics(new Registry()),
      logger: silentLogger,
      tracer: noTracer,
      events: { accessRefused: () => undefined },
    });
    server.tls.listen(0, '127.0.0.1');
    await once(server.tls, 'listening');
    const own = sourceOf(await installation.authority.gateway('gateway-a'), installation.authority);
    const client = new RelayClient(
      own,
      installation.authority.trustDomain,
      { has: () => false, onChange: () => undefined },
      silentLogger,
    );
    const relayAddress = `127.0.0.1:${(server.tls.address() as AddressInfo).port}`;
    try {
      await client.tunnel({ credential: 'gateway-b', instance: 'b', relayAddress });
    } finally {
      client.close();
      await server.close();
    }
  };
  // A dial has three seconds, which a busy machine may take from it.
  await eventually(() => relayTo(installation.authority));
  await eventually(() => expect(relayTo(neighbour)).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' }));
});

function sourceOf({ privateKeyPem, chain }: TestCertificate, { roots }: TestAuthority): CertificateSource {
  const current = {
    keyPem: privateKeyPem,
    chainPem: chain,
    rootsPem: roots,
    notBefore: new Date(),
    notAfter: new Date(Date.now() + 3_600_000),
  };
  return { current, onChange: (listener) => listener(current) };
}
