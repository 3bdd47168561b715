import 'reflect-metadata';
import { inTransaction } from '@fairlead/persistence';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from 'vitest';
import { api, caEvents, enrol, keysOfEach, type KeysProcess } from './testing/keys-fixture.js';

const DAY_MS = 86_400_000;
const step = (name: 'prepare' | 'activate', force = false) => ({ step: name, force });

let one: KeysProcess;
let two: KeysProcess;

const fixture = keysOfEach(async () => {
  [one, two] = await Promise.all([fixture.start(), fixture.start()]);
});

const acknowledge = (clusterId: string, version: number): Promise<void> =>
  one.rotation.acknowledge([{ clusterId, version }]);

describe('activate', () => {
  it('waits until the agent of every cluster said that it knows the next root', async () => {
    const agent = await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    await acknowledge(agent.clusterId, 1);
    const waiting = two.rotation.rotate(api, step('activate'));
    await expect(waiting).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(waiting).rejects.toThrow(new RegExp(`1 of 1 clusters .*${agent.clusterId}.*--force`));
    const { rotation } = await two.rotation.status();
    expect(rotation?.waitingFor).toMatchObject([
      { tenantId: 'default', clusterId: agent.clusterId, heldVersion: 1, why: 'unacknowledged' },
    ]);
    await acknowledge(agent.clusterId, 2);
    // Two gateways report in any order; an older answer takes nothing back.
    await acknowledge(agent.clusterId, 1);
    expect((await two.rotation.status()).rotation).toMatchObject({ clusters: 1, clustersDone: 1, waitingFor: [] });
    await expect(two.rotation.rotate(api, step('activate'))).resolves.toMatchObject({ trustVersion: 3 });
  });

  it('waits for replicas, and goes on without them only by force, which is told', async () => {
    await enrol(one);
    await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    const replica = { credential: 'gateway-b', instance: crypto.randomUUID(), heldVersion: 1 };
    fixture.behind = [replica];
    await expect(one.rotation.rotate(api, step('activate'))).rejects.toThrow(/gateway-b has 1/);
    expect((await one.rotation.status()).rotation?.gateways).toEqual([replica]);
    await one.rotation.rotate(api, step('activate', true));
    expect((await caEvents(one))[0]).toMatchObject({
      type: 'ca.activated.v1',
      data: { forced: true, cutOffClusters: 2, cutOffGateways: 1, cutOffCertificates: 0, actor: { id: 'api' } },
    });
  });

  it('does not wait for clusters that cannot come back: revoked, enrolled anew, away for too long', async () => {
    const [away, single, fenced] = [await enrol(one), await enrol(one), await enrol(one)];
    await one.revocations.revokeCertificate(api, 'default', { serial: single.serial, reason: 'lost' });
    const { clusterId } = fenced;
    await one.revocations.revokeGenerations('default', { clusterId, throughGeneration: 1, reason: 'deleted' });
    fixture.nowMs += 20 * DAY_MS;
    const here = await enrol(one);
    await one.rotation.rotate(api, step('prepare'));
    await acknowledge(here.clusterId, 2);
    const { rotation } = await one.rotation.status();
    expect(rotation).toMatchObject({ clusters: 2, clustersDone: 1, waitingFor: [{ clusterId: away.clusterId }] });
    fixture.nowMs = new Date(rotation?.waitingFor[0]?.waitedUntil ?? 0).getTime() + 1_000;
    await expect(one.rotation.rotate(api, step('activate'))).resolves.toMatchObject({ trustVersion: 3 });
  });

  it('counts no version that was never made, and nobody who is unknown', async () => {
    const agent = await enrol(one);
    await one.rotation.acknowledge([
      { clusterId: agent.clusterId, version: 0xff_ff_ff_ff },
      { clusterId: agent.clusterId, version: 1 },
      { clusterId: crypto.randomUUID(), version: 1 },
    ]);
    const held: unknown = await one.database.query('select version from trust_acknowledgements');
    expect(held).toEqual([{ version: 1 }]);
    await one.rotation.rotate(api, step('prepare'));
    await expect(one.rotation.rotate(api, step('activate'))).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('is not taken while a certificate is being signed, so that each one is on record before anything is counted', async () => {
    await one.rotation.rotate(api, step('prepare'));
    let activated = false;
    const activating = await inTransaction(one.database, async (manager) => {
      await one.ca.shared(manager);
      // What another process signs meanwhile waits for nobody.
      await enrol(two);
      const rotating = two.rotation.rotate(api, step('activate', true)).finally(() => (activated = true));
      // It waits for 5 s at most: when that is over too early, the test fails, not the process.
      rotating.catch(() => undefined);
      await eventually(async () => {
        const waiting: unknown = await one.database.query('select from pg_locks where not granted');
        expect(waiting).toHaveLength(1);
      });
      expect(activated).toBe(false);
      return { rotating };
    });
    await expect(activating.rotating).resolves.toMatchObject({ rotation: { clusters: 1, clustersDone: 0 } });
  });
});
