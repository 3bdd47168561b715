import 'reflect-metadata';
import { BUCKETS, type ClusterEntry } from '@fairlead/contracts';
import { deleteKv, putKv } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ClusterWatch } from './index.js';
import {
  api,
  enrol,
  keysOfEach,
  newCsr,
  registration,
  renew,
  source,
  type EnrolledAgent,
  type KeysProcess,
} from './testing/keys-fixture.js';

let keys: KeysProcess;

const fixture = keysOfEach(async () => {
  keys = await fixture.start();
});

describe('an enrolment that was signed, and that registration never heard of', () => {
  let agent: EnrolledAgent;
  let later: EnrolledAgent;

  beforeEach(async () => {
    agent = await enrol(keys);
    const { key, csr } = await newCsr();
    const { clusterId } = agent;
    later = {
      clusterId,
      key,
      ...(await keys.issuer.signAgent(registration, 'default', { clusterId, generation: 2, csr })),
    };
  });

  const passMinutes = (count: number): Promise<unknown> =>
    keys.database.query(`update certificates set created_at = created_at - make_interval(mins => $1)`, [count]);
  const enrolledAgain = expect.objectContaining({
    message: expect.stringContaining('enrolled again') as string,
  }) as Error;

  it('fences the agent that works no longer than it takes to be settled', async () => {
    fixture.current = 1;
    await expect(renew(keys, agent)).rejects.toEqual(enrolledAgain);
    await passMinutes(3);
    await expect(renew(keys, agent)).resolves.toBeDefined();
    // And again, when it is due.
    await expect(renew(keys, agent)).resolves.toBeDefined();
  });

  it('fences it for good as soon as registration knows of it, or nobody knows', async () => {
    await passMinutes(3);
    for (const current of [null, 2, 3, 0]) {
      fixture.current = current;
      await expect(renew(keys, agent)).rejects.toEqual(enrolledAgain);
    }
    await expect(renew(keys, later)).resolves.toBeDefined();
  });

  it('fences it whatever registration says once it was renewed: it is in use', async () => {
    await renew(keys, later);
    await passMinutes(3);
    fixture.current = 1;
    await expect(renew(keys, agent)).rejects.toEqual(enrolledAgain);
  });

  it('brings back nothing that was revoked', async () => {
    await passMinutes(3);
    fixture.current = 1;
    const revoked = { clusterId: agent.clusterId, throughGeneration: 1, reason: 'stolen' };
    await keys.revocations.revokeCertificate(api, 'default', { serial: agent.serial, reason: 'stolen' });
    await expect(renew(keys, agent)).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
    await keys.revocations.revokeGenerations('default', revoked);
    await expect(renew(keys, agent)).rejects.toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  });

  it('is no reason to sign for an older one', async () => {
    await passMinutes(3);
    fixture.current = 1;
    const asked = { clusterId: agent.clusterId, generation: 1, csr: (await newCsr()).csr };
    const signing = keys.issuer.signAgent(registration, 'default', asked);
    await expect(signing).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('the bucket of clusters', () => {
  const clusterId = crypto.randomUUID();
  const key = `default.${clusterId}`;
  const entry: ClusterEntry = { tenantId: 'default', clusterId, name: 'one', generation: 4, labels: {} };
  let nats: SecuredNats;

  beforeAll(async () => {
    nats = await startSecuredNats(fixture.scratch.file('nats'));
  });
  afterAll(async () => {
    await nats?.[Symbol.asyncDispose]();
  });

  it('tells the current enrolment, and nothing while NATS is away', async () => {
    await using clusters = new ClusterWatch(await nats.connect(source), silentLogger);
    const told = (): number | null => clusters.currentEnrolment('default', clusterId);
    expect(told()).toBeNull();
    const asRegistration = await nats.connect(registration);
    await putKv(asRegistration, BUCKETS.clusters, key, entry);
    await eventually(() => expect(told()).toBe(4));
    expect(clusters.currentEnrolment('other', clusterId)).toBeNull();
    expect(clusters.belongs('default', clusterId)).toBe(true);
    expect(clusters.belongs('other', clusterId)).toBe(false);
    nats.server.kill('SIGKILL');
    await eventually(() => expect(told()).toBeNull(), { timeoutMs: 60_000 });
    expect(() => clusters.belongs('default', clusterId)).toThrow('not known at present');
    await nats.server.restart();
    await eventually(() => expect(told()).toBe(4), { timeoutMs: 60_000 });
    await eventually(() => deleteKv(asRegistration, BUCKETS.clusters, key), { timeoutMs: 60_000 });
    await eventually(() => expect(told()).toBeNull());
  });
});
