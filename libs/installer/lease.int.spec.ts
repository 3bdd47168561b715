import type { ChildProcess } from 'node:child_process';
import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LEASE_LIMITS } from './lease/lease.js';
import { leaseRef, recordOf, type LeaseRecord } from './lease/lease-record.js';
import { OWN } from './names.js';
import { ownObjects } from './state/own-objects.js';
import { StateKeeper } from './state/state-keeper.js';
import { readReport, startTestCluster, type TestCluster } from './testing/cluster.js';
import { bring, bundleOf, handOver, handoverOf, NAMESPACE, stateOf, gitopsSpecOf } from './testing/control-plane.js';
import { endProcess, startInstallerProcess } from './testing/installer-process.js';
import { smallBundle } from './testing/small-bundle.js';
import { startStandIn, type StandIn } from './testing/stand-in.js';

/** The duration, twice the longest time between two attempts, and what two busy cores take. */
const TAKE_OVER_MS = LEASE_LIMITS.durationMs + 3 * LEASE_LIMITS.retryMs + 4_000;
/** Who only notices the silence has it the duration after the last renewal, which is three seconds old at its holder's end, at most. */
const AT_ONCE_MS = LEASE_LIMITS.durationMs - 2 * LEASE_LIMITS.retryMs;
const bundle = bundleOf(smallBundle());
const deployment: ObjectRef = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  namespace: 'flux-system',
  name: 'source-controller',
};

let cluster: TestCluster;
let standIn: StandIn;
const started: ChildProcess[] = [];

/** At the pace of production, as far as the Lease goes. */
function startInstaller(healthPort?: number): ChildProcess {
  const child = startInstallerProcess(cluster, healthPort);
  started.push(child);
  return child;
}

async function readLease(): Promise<LeaseRecord> {
  const found = await cluster.objects.read(leaseRef(NAMESPACE));
  return recordOf(found ?? { apiVersion: '', kind: '', metadata: { name: '' } });
}

/** Another one than this holds it. */
const takenFrom = (holder: string, timeoutMs = TAKE_OVER_MS): Promise<LeaseRecord> =>
  eventually(
    async () => {
      const lease = await readLease();
      expect(['', holder]).not.toContain(lease.holder);
      return lease;
    },
    { timeoutMs, intervalMs: 100 },
  );

const read = (ref: ObjectRef): Promise<KubeObject | null> => cluster.objects.read(ref);
const isBack = (): Promise<void> =>
  eventually(async () => expect(await read(deployment)).not.toBeNull(), { timeoutMs: 30_000 });

/** Whose report it is, once this revision is healthy. */
async function healthy(revision: number): Promise<string> {
  const report = await cluster.report((report) =>
    expect(report).toMatchObject({ phase: 'healthy', appliedRevision: revision }),
  );
  return report.installerInstance;
}

/** By its own account, on the port of its probes. */
const isReady = (port: number): Promise<void> =>
  eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200), {
    timeoutMs: 60_000,
  });

/** What it says of itself, on the port of its probes. */
function shows(port: number, lines: readonly string[]): Promise<void> {
  return eventually(async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const line of lines) expect(text).toContain(`fairlead_installer_${line}`);
  });
}

beforeAll(async () => {
  cluster = await startTestCluster();
  standIn = startStandIn(cluster.objects);
});
afterAll(async () => {
  for (const child of started) await endProcess(child, 'SIGKILL');
  await standIn[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

it('of two installers one acts; the other takes over from one that stands still, and a woken one writes nothing over', async () => {
  const { objects, authority } = cluster;
  const [firstPort, secondPort] = [await freePort(), await freePort()];
  const first = startInstaller(firstPort);
  await bring(objects, bundle);
  await handOver(objects, await handoverOf(authority, stateOf(1, gitopsSpecOf(bundle))));
  const one = await healthy(1);
  const { holder: ofFirst } = await takenFrom('');
  expect(ofFirst).toMatch(new RegExp(`_${one}$`));
  const second = startInstaller(secondPort);
  await objects.remove(deployment);
  await isBack();
  expect([await healthy(1), (await readLease()).holder]).toEqual([one, ofFirst]);
  await shows(firstPort, ['leading 1', 'phase{phase="healthy"} 1', 'applied_revision 1', 'looks_total{outcome="ok"}']);
  // One that waits for its turn is ready to take it.
  await shows(secondPort, ['leading 0', 'phase{phase="healthy"} 0']);
  await isReady(secondPort);

  first.kill('SIGSTOP');
  const { holder: ofSecond, transitions } = await takenFrom(ofFirst);
  await objects.remove(deployment);
  await isBack();
  await handOver(objects, await handoverOf(authority, stateOf(2, gitopsSpecOf(bundle, { suspend: true }))));
  const two = await healthy(2);
  expect(ofSecond).toMatch(new RegExp(`_${two}$`));

  const state = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: OWN.state };
  const before = await read(state);
  first.kill('SIGCONT');
  // The next three renewals of the second one: the first one had the time for its own, and for many looks.
  for (let renewals = 0, { renewTime } = await readLease(); renewals < 3; renewals += 1) {
    renewTime = await eventually(
      async () => {
        const lease = await readLease();
        expect(lease).toMatchObject({ holder: ofSecond, transitions });
        expect(lease.renewTime).not.toBe(renewTime);
        return lease.renewTime;
      },
      { timeoutMs: 30_000 },
    );
  }
  expect((await read(state))?.['data']).toEqual(before?.['data']);
  expect((await readReport(objects)).installerInstance).toBe(two);
  expect([first.exitCode, second.exitCode]).toEqual([null, null]);
});

it('takes over from one that was killed, and at once from one that ended', async () => {
  const [first, second] = started as [ChildProcess, ChildProcess];
  const { holder } = await readLease();
  await endProcess(second, 'SIGKILL');
  const { holder: ofFirst } = await takenFrom(holder);
  await cluster.objects.remove(deployment);
  await isBack();
  const port = await freePort();
  startInstaller(port);
  // What a process takes to start is no part of what is measured.
  await isReady(port);
  await endProcess(first, 'SIGTERM');
  const { holder: ofThird } = await takenFrom(ofFirst, AT_ONCE_MS);
  // There is a report of the first one, too, which was healthy with the same revision.
  const installerInstance = ofThird.split('_').at(-1);
  await cluster.report((report) =>
    expect(report).toMatchObject({ phase: 'healthy', appliedRevision: 2, installerInstance }),
  );
});

it('what another installer kept is not written over, whoever holds the Lease', async () => {
  const own = ownObjects(cluster.objects, 'default');
  const [one, other] = [await StateKeeper.open(own), await StateKeeper.open(own)];
  await one.keep({ appliedRevision: 1 });
  await expect(other.keep({ appliedRevision: 7 })).rejects.toMatchObject({ code: 'CONFLICT' });
  const third = await StateKeeper.open(own);
  await one.keep({ appliedRevision: 2 });
  await expect(third.keep({ appliedRevision: 8 })).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await StateKeeper.open(own)).held.appliedRevision).toBe(2);
  // Deleted while it is in use, it is kept again.
  await own.remove('Secret', OWN.state);
  await one.keep({ appliedRevision: 3 });
  expect((await StateKeeper.open(own)).held.appliedRevision).toBe(3);
  await expect(third.keep({ appliedRevision: 8 })).rejects.toMatchObject({ code: 'CONFLICT' });
});
