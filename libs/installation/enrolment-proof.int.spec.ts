import { enrolmentProofKey, formatToken, parseToken, verifyEnrolmentProof } from '@fairlead/pki';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let replica: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  replica = await installation.startReplica('gateway-a');
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  installation.ca.enrolments.length = 0;
});

const secret = new Uint8Array(32).fill(7);

/** An agent that enrols with a token of this id, and links. */
async function enrolWith(id: string): Promise<void> {
  const token = formatToken({ pin: installation.authority.pins[0] ?? '', id, secret });
  const agent = await installation.startAgent({ replicas: [replica], apiPort: api.port, token });
  await agent.stop();
}

it('a gateway passes on the proof of an agent, and never has the secret', async () => {
  const { clusterId } = installation.cluster;
  const id = `p-${clusterId}`;
  await enrolWith(id);
  const [passedOn, ...more] = installation.ca.enrolments;
  expect(more).toEqual([]);
  expect(passedOn).toMatchObject({ tokenId: id });
  expect(passedOn?.secret).toBeUndefined();
  const [csrDer, proof] = [passedOn?.csr, passedOn?.proof].map((text) => Buffer.from(text ?? '', 'base64'));
  const proofKey = enrolmentProofKey(parseToken(formatToken({ pin: 'ab'.repeat(32), id, secret })));
  expect(verifyEnrolmentProof(proofKey, id, csrDer ?? Buffer.of(), proof ?? Buffer.of())).toBe(true);
});

it('a gateway passes on the secret of a token whose registration takes no proofs', async () => {
  await enrolWith(installation.cluster.clusterId);
  expect(installation.ca.enrolments).toMatchObject([{ secret: Buffer.from(secret).toString('base64') }]);
  expect(installation.ca.enrolments[0]?.proof).toBeUndefined();
});
