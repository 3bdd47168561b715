import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import { connect as netConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { create, toBinary } from '@bufbuild/protobuf';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { createCsr, generatePrivateKey } from '@fairlead/pki';
import { EnrolRequestSchema } from '@fairlead/proto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import { rawCall } from './raw-call.js';

// https://grpc.io/docs/guides/status-codes/
const [INVALID_ARGUMENT, RESOURCE_EXHAUSTED] = ['3', '8'];
/** Refused enrolments of one address in a minute. */
const FAILURES = 30;

let installation: TestInstallation;
let replica: Replica;
let csrDer: Uint8Array<ArrayBuffer>;
let session: ClientHttp2Session;
let addresses = 20;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a');
  csrDer = new Uint8Array(await createCsr(await generatePrivateKey()));
});
afterAll(() => installation?.[Symbol.asyncDispose]());
beforeEach(async () => {
  const { ca, authority } = installation;
  Object.assign(ca, { enrolmentRefusal: null });
  ca.enrolments.length = 0;
  const { port } = replica.gateway.link;
  // An address of its own, so that no test uses up what another one has.
  const localAddress = `127.0.0.${(addresses += 1)}`;
  session = connect('https://127.0.0.1', {
    createConnection: () =>
      tlsConnect({
        socket: netConnect({ port, host: '127.0.0.1', localAddress }),
        ca: [...authority.roots],
        checkServerIdentity: () => undefined,
        ALPNProtocols: ['h2'],
      }),
  });
  await once(session, 'connect');
});
afterEach(() => {
  session.destroy();
});

/** The gRPC status of one Enrol call. */
async function enrol(tokenId: string): Promise<string> {
  const facts = { agentVersion: '0.1.0', kubernetesVersion: 'v1.34.4', platform: 'linux/amd64' };
  const secret = tokenId === '' ? new Uint8Array() : new Uint8Array(32);
  const message = toBinary(EnrolRequestSchema, create(EnrolRequestSchema, { tokenId, secret, csrDer, facts }));
  return (await rawCall(session, 'Enrol', message)).status;
}

/** How many of so many enrolments came to registration, which refuses all of them so. */
async function passedOn(code: ErrorCode, tries: number, tokenId = 'spent'): Promise<number> {
  installation.ca.enrolmentRefusal = new FairleadError(code, 'as this test has it');
  for (let done = 0; done < tries; done += 5) {
    await Promise.all(Array.from({ length: 5 }, () => enrol(tokenId)));
  }
  return installation.ca.enrolments.length;
}

it.each(['a b', 'a\0', 'a\nb', 'ä', 'a'.repeat(65), 'a\u202eb'])(
  'what is no id of a token, as %j, is refused at the gateway, and asked nobody about',
  async (tokenId) => {
    replica.refusals.length = 0;
    expect(await enrol(tokenId)).toBe(INVALID_ARGUMENT);
    expect(installation.ca.enrolments).toEqual([]);
    expect(replica.refusals).toMatchObject([{ code: 'INVALID_ARGUMENT', reason: 'this is no id of a token' }]);
  },
);

it('whoever holds a spent token has registration and keys turn it away so often, and then it has failed', async () => {
  const startedMs = performance.now();
  const passed = await passedOn('RATE_LIMITED', 200);
  const most = 60 + 2 * Math.ceil((performance.now() - startedMs) / 1_000) + FAILURES;
  expect(passed).toBeGreaterThanOrEqual(60 + FAILURES);
  expect(passed).toBeLessThanOrEqual(most);
  expect(await enrol('spent')).toBe(RESOURCE_EXHAUSTED);
  expect(installation.ca.enrolments).toHaveLength(passed);
});

it('a fleet behind one address is not kept out by services that are away', async () => {
  expect(await passedOn('UNAVAILABLE', 100)).toBe(100);
  installation.ca.enrolmentRefusal = null;
  expect(await enrol(installation.cluster.clusterId)).toBe('0');
});

it('agents without a token that are turned away, as the queue is full, keep nobody with a token out', async () => {
  expect(await passedOn('RATE_LIMITED', 95, '')).toBe(95);
  installation.ca.enrolmentRefusal = null;
  expect(await enrol(installation.cluster.clusterId)).toBe('0');
});
