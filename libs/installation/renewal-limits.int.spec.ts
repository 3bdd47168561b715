import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as tlsConnect } from 'node:tls';
import { create, toBinary } from '@bufbuild/protobuf';
import { createCsr, generatePrivateKey, signProof } from '@fairlead/pki';
import { RenewRequestSchema } from '@fairlead/proto';
import { eventually, type TestCertificate } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import { rawCall } from './raw-call.js';

// https://grpc.io/docs/guides/status-codes/
const [OK, PERMISSION_DENIED, RESOURCE_EXHAUSTED] = ['0', '7', '8'];

let installation: TestInstallation;
let gateway: Replica;
let own: TestCertificate;
let other: TestCertificate;

beforeAll(async () => {
  installation = await startInstallation();
  gateway = await installation.startReplica('gateway-a');
  own = await installation.authority.agent(installation.cluster.clusterId);
  other = await installation.authority.agent((await installation.addCluster('other')).clusterId);
});

afterAll(() => installation?.[Symbol.asyncDispose]());

async function asAgent<T>(
  certificate: TestCertificate,
  action: (session: ClientHttp2Session) => Promise<T>,
): Promise<T> {
  const { port } = gateway.gateway.link;
  const session = connect(`https://127.0.0.1:${port}`, {
    createConnection: () =>
      tlsConnect({
        port,
        host: '127.0.0.1',
        key: certificate.privateKeyPem,
        cert: certificate.chainPem,
        ca: [...installation.authority.roots],
        checkServerIdentity: () => undefined,
        ALPNProtocols: ['h2'],
      }),
  });
  await once(session, 'connect');
  try {
    return await action(session);
  } finally {
    session.destroy();
  }
}

/** The gRPC status of a renewal of this certificate, with a valid proof. */
async function renew(session: ClientHttp2Session, { privateKeyPem, chain }: TestCertificate): Promise<string> {
  const csrDer = new Uint8Array(await createCsr(await generatePrivateKey()));
  const proof = new Uint8Array(await signProof(privateKeyPem, csrDer));
  const message = toBinary(
    RenewRequestSchema,
    create(RenewRequestSchema, { csrDer, proof, currentChainPem: [...chain] }),
  );
  return (await rawCall(session, 'Renew', message)).status;
}

it('an agent carries a renewal for its own cluster only', async () => {
  expect(await asAgent(own, (session) => renew(session, other))).toBe(PERMISSION_DENIED);
  expect(await asAgent(other, (session) => renew(session, other))).toBe(OK);
});

it('a cluster renews five times at once and then now and then, and takes nothing from others', async () => {
  const burst = (session: ClientHttp2Session): Promise<string[]> =>
    Promise.all(Array.from({ length: 20 }, () => renew(session, own)));
  const answers = await asAgent(own, burst);
  const of = (status: string | undefined): number => answers.filter((answer) => answer === status).length;
  expect(of(OK)).toBeGreaterThanOrEqual(5);
  expect(of(OK)).toBeLessThanOrEqual(7);
  expect(of(OK) + of(RESOURCE_EXHAUSTED)).toBe(20);
  expect(await asAgent(other, (session) => renew(session, other))).toBe(OK);
});

it('whoever has a certificate that was fenced takes no turn of the agent whose certificate counts', async () => {
  const { clusterId } = await installation.addCluster('again', 2);
  const [fenced, current] = [
    await installation.authority.agent(clusterId, { generation: 1 }),
    await installation.authority.agent(clusterId, { generation: 2 }),
  ];
  // Once, so that the replica knows the cluster before it is counted who was refused for what.
  await eventually(async () =>
    expect(await asAgent(current, (session) => renew(session, current))).not.toBe(PERMISSION_DENIED),
  );
  // One after the other: calls that are open at once have a bound of their own.
  const burst = async (session: ClientHttp2Session): Promise<string[]> => {
    const answers: string[] = [];
    while (answers.length < 20) answers.push(await renew(session, fenced));
    return answers;
  };
  expect(new Set(await asAgent(fenced, burst))).toEqual(new Set([PERMISSION_DENIED]));
  expect(await asAgent(current, (session) => renew(session, current))).toBe(OK);
});
