import { eventually } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let a: Replica;
let b: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

it('a link that its replica did not end is reported with what is known of why, once', async () => {
  const cluster = await installation.addCluster('lost');
  const agent = await installation.startAgent({ replicas: [a], cluster, apiPort: api.port });
  await agent.stop();
  await eventually(() => expect(a.troubles).toHaveLength(1));
  expect(a.troubles).toMatchObject([{ clusterId: cluster.clusterId, code: 'UNAVAILABLE', address: '127.0.0.1' }]);
  expect(a.troubles[0]?.reason).toMatch(/^the connection (broke|was closed): /);
  expect(b.troubles).toEqual([]);
});

it('an agent that is turned away is reported with the code that it was told', async () => {
  const cluster = await installation.addCluster('replaced', 2);
  const certificateOf = { ...cluster, generation: 1 };
  await installation.startAgent({ replicas: [b], cluster, certificateOf, apiPort: api.port, expectRefusal: true });
  await eventually(() => expect(b.troubles).toHaveLength(1));
  const reason = 'enrolment 1 was replaced by 2';
  expect(b.troubles).toMatchObject([{ clusterId: cluster.clusterId, code: 'CERTIFICATE_REFUSED', reason }]);
});

it('what a replica ends itself, because it stops, is no trouble', async () => {
  const cluster = await installation.addCluster('moved');
  const agent = await installation.startAgent({ replicas: [a, b], links: 2, cluster, apiPort: api.port });
  const before = a.troubles.length;
  await a.stop();
  await eventually(() => expect(agent.agent.readiness()[0]?.detail).toMatch(/^1 of/));
  expect(a.troubles).toHaveLength(before);
});
