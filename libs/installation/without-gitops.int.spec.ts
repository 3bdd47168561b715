import { BUCKETS } from '@fairlead/contracts';
import { provisionJetStream } from '@fairlead/messaging';
import { eventually } from '@fairlead/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startInstallation, type TestInstallation } from './replicas.js';

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startInstallation();
});

afterAll(() => installation?.[Symbol.asyncDispose]());

it('a replica without the bucket and the service of GitOps takes links, and tells agents once there is something', async () => {
  const operator = await installation.nats.connect({ role: 'operator', credential: 'operator' });
  const manager = await jetstreamManager(operator, { checkAPI: false });
  await manager.streams.delete(`KV_${BUCKETS.desired}`);
  installation.gitops.away = true;
  const replica = await installation.startReplica('gateway-a');
  const values: Record<string, string> = {};
  const maps = {
    read: () => Promise.resolve(values),
    write: (_: string, { data }: { readonly data?: Readonly<Record<string, string>> }) =>
      Promise.resolve(void Object.assign(values, data)),
  };
  const agent = await installation.startAgent({ replicas: [replica], apiPort: 1, handover: { maps } });
  expect(replica.gateway.readiness().every(({ ok }) => ok)).toBe(true);
  await provisionJetStream(operator);
  await installation.gitops.want(installation.cluster, 4);
  await eventually(() => expect(values['revision']).toBe('4'));
  expect(agent.agent.readiness()[0]).toMatchObject({ ok: true });
});
