import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as tlsConnect } from 'node:tls';
import { create, toBinary } from '@bufbuild/protobuf';
import { createCsr, generatePrivateKey, signProof } from '@fairlead/pki';
import { AgentLinkService, ControlRequestSchema, EnrolRequestSchema, RenewRequestSchema } from '@fairlead/proto';
import { testAuthority, type TestCertificate } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import { rawCall, type RawAnswer } from './raw-call.js';

// https://grpc.io/docs/guides/status-codes/
const [OK, PERMISSION_DENIED, UNAVAILABLE, UNAUTHENTICATED] = ['0', '7', '14', '16'];

let installation: TestInstallation;
let gateway: Replica;
let ended: TestCertificate;
let session: ClientHttp2Session;

beforeAll(async () => {
  installation = await startInstallation();
  gateway = await installation.startReplica('gateway-a', { allowEgress: ['127.0.0.1:1-65535'] });
  const hourMs = 3_600_000;
  ended = await installation.authority.agent(installation.cluster.clusterId, {
    notBefore: new Date(Date.now() - 2 * hourMs),
    notAfter: new Date(Date.now() - hourMs),
  });
  const { port } = gateway.gateway.link;
  session = connect(`https://127.0.0.1:${port}`, {
    createConnection: () =>
      tlsConnect({
        port,
        host: '127.0.0.1',
        key: ended.privateKeyPem,
        cert: ended.chainPem,
        ca: [...installation.authority.roots],
        checkServerIdentity: () => undefined,
        ALPNProtocols: ['h2'],
      }),
  });
  await once(session, 'connect');
});

afterAll(async () => {
  session?.destroy();
  await installation?.[Symbol.asyncDispose]();
});

/** The gRPC status of one call with one message. */
async function call(method: string, message: Uint8Array): Promise<string> {
  return (await answerTo(method, message)).status;
}

function answerTo(method: string, message: Uint8Array): Promise<RawAnswer> {
  return rawCall(session, method, message, { keepsOpen: method === 'Control' || method === 'Tunnel' });
}

async function renewal(of = ended): Promise<Uint8Array> {
  const csrDer = new Uint8Array(await createCsr(await generatePrivateKey()));
  const proof = new Uint8Array(await signProof(of.privateKeyPem, csrDer));
  return toBinary(RenewRequestSchema, create(RenewRequestSchema, { csrDer, proof, currentChainPem: [...of.chain] }));
}

function hello(): Uint8Array {
  const value = { agentInstance: 'x', protocolVersion: 1, clusterId: installation.cluster.clusterId };
  return toBinary(ControlRequestSchema, create(ControlRequestSchema, { message: { case: 'hello', value } }));
}

/** What each call of the link does for somebody whose certificate has ended. A call that is not here fails the test. */
const EXPECTED: Readonly<Record<string, readonly [why: string, status: string, message: () => unknown]>> = {
  Discover: ['it is public', OK, () => new Uint8Array()],
  Enrol: [
    'the token decides, and no registration runs here',
    UNAVAILABLE,
    () => toBinary(EnrolRequestSchema, create(EnrolRequestSchema, { tokenId: 'x' })),
  ],
  Renew: ['the key proves whose it is', OK, () => renewal()],
  FetchBundle: ['it is refused', PERMISSION_DENIED, () => new Uint8Array()],
  Control: ['it is refused', PERMISSION_DENIED, hello],
  Tunnel: ['there is no Control call', UNAUTHENTICATED, () => new Uint8Array()],
  Egress: ['there is no Control call', UNAUTHENTICATED, () => new Uint8Array()],
};

it.each(AgentLinkService.methods.map(({ name }) => name))('%s, with a certificate that has ended', async (method) => {
  const [why, status, message] = EXPECTED[method] ?? ['nobody said', 'nobody said', () => new Uint8Array()];
  expect([why, await call(method, (await message()) as Uint8Array)]).toEqual([why, status]);
});

it('Renew tells somebody with a certificate of their own making nothing about the cluster it names', async () => {
  const foreign = await testAuthority();
  const { clusterId } = installation.cluster;
  const claims = [
    await foreign.agent(clusterId),
    await foreign.agent(clusterId, { generation: 0 }),
    await foreign.agent(clusterId, { generation: 99 }),
    await foreign.agent('00000000-0000-4000-8000-000000000000'),
  ];
  const answers = [];
  for (const claim of claims) answers.push(await answerTo('Renew', await renewal(claim)));
  const [first] = answers;
  expect(first).toMatchObject({
    status: PERMISSION_DENIED,
    message: expect.stringContaining('is not renewed') as string,
  });
  for (const answer of answers) expect(answer).toEqual(first);
});
