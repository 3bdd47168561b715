import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';

let pair: ReplicaPair;

beforeAll(async () => {
  pair = await startReplicaPair();
});
afterAll(() => pair?.[Symbol.asyncDispose]());

it('a link that its replica did not end is reported with what is known of why, once', async () => {
  const cluster = await pair.installation.addCluster('lost');
  const agent = await pair.installation.startAgent({ replicas: [pair.a], cluster, apiPort: pair.api.port });
  await agent.stop();
  await eventually(() => expect(pair.a.problems).toHaveLength(1));
  expect(pair.a.problems).toMatchObject([{ clusterId: cluster.clusterId, code: 'UNAVAILABLE', address: '127.0.0.1' }]);
  expect(pair.a.problems[0]?.reason).toMatch(/^the connection (broke|was closed): /);
  expect(pair.b.problems).toEqual([]);
});

it('an agent that is turned away is reported with the code that it was told', async () => {
  const cluster = await pair.installation.addCluster('replaced', 2);
  const certificateOf = { ...cluster, generation: 1 };
  await pair.installation.startAgent({
    replicas: [pair.b],
    cluster,
    certificateOf,
    apiPort: pair.api.port,
    expectRefusal: true,
  });
  await eventually(() => expect(pair.b.problems).toHaveLength(1));
  const reason = 'enrolment 1 was replaced by 2';
  expect(pair.b.problems).toMatchObject([{ clusterId: cluster.clusterId, code: 'CERTIFICATE_REFUSED', reason }]);
});

it('what a replica ends itself, because it stops, is no problem', async () => {
  const cluster = await pair.installation.addCluster('moved');
  const agent = await pair.installation.startAgent({
    replicas: [pair.a, pair.b],
    links: 2,
    cluster,
    apiPort: pair.api.port,
  });
  const before = pair.a.problems.length;
  await pair.a.stop();
  await eventually(() => expect(agent.agent.readiness()[0]?.detail).toMatch(/^1 of/));
  expect(pair.a.problems).toHaveLength(before);
});
