import { isHealthy, type HealthLimits } from '../domain/cluster-health.js';
import { beginRotation } from '../domain/key-plan.js';
import { EARLIEST_SHARE, dueAtMs, isToRotate, roomForRotations } from '../domain/key-schedule.js';
import { readBreaker } from '../store/breaker-store.js';
import { lockCluster, updateCluster, type StoredCluster } from '../store/cluster-store.js';
import { rotationsUnderWay, scheduledClusters, type ScheduledCluster } from '../store/key-schedule-store.js';
import { lockCatalog } from '../store/locks.js';
import { runningRollouts } from '../store/rollout-store.js';
import { healthInputOf } from './cluster-status.js';
import { OneByOne } from './one-by-one.js';
import { actorOf, commit, read, tell, type Runtime } from './runtime.js';

/** Keys have days. */
const EVERY_MS = 30_000;

/** Has deploy keys replaced that are as old as their repository lets them be. */
export class KeySchedule {
  readonly #silenceMs: number;
  readonly #schedule: OneByOne;
  readonly #rotations: DueRotations;
  #nextMs = 0;

  constructor(
    private readonly runtime: Runtime,
    { silenceMs }: Pick<HealthLimits, 'silenceMs'>,
  ) {
    this.#silenceMs = silenceMs;
    this.#schedule = new OneByOne(runtime, 'key-schedule');
    this.#rotations = new DueRotations(runtime);
  }

  /** Begins what is due and has room, now and then. True if it began any. What fails holds up nothing else. */
  async reconcileOnce(): Promise<boolean> {
    const now = this.runtime.now();
    if (now.getTime() < this.#nextMs) return false;
    this.#nextMs = now.getTime() + EVERY_MS;
    return this.#schedule.each(['all'], String, () => this.#beginAll(now));
  }

  async #beginAll(now: Date): Promise<boolean> {
    const heardAfter = new Date(now.getTime() - this.#silenceMs);
    const scheduled = await read(this.runtime, (manager) =>
      scheduledClusters(manager, { now, heardAfter, share: EARLIEST_SHARE }),
    );
    if (scheduled.length === 0) return false;
    const underWay = await read(this.runtime, (manager) => rotationsUnderWay(manager, heardAfter));
    const nowMs = this.runtime.now().getTime();
    // Those first that are due longest.
    const due = scheduled
      .map((cluster) => ({ ...cluster, atMs: dueAtMs(cluster.readyAtMs, cluster.everySeconds, cluster.id) }))
      .filter(({ atMs }) => atMs <= nowMs)
      .toSorted((one, other) => one.atMs - other.atMs);
    const roomOf = (hostId: string): number => roomForRotations(underWay.get(hostId) ?? [], now.getTime());
    return this.#rotations.begin(due, roomOf, (cluster) => this.#rotate(cluster));
  }

  /** False if something came between. */
  async #rotate({ id, tenantId, everySeconds }: ScheduledCluster): Promise<boolean> {
    return commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const rolling = (await runningRollouts(manager)).filter((each) => each.tenantId === tenantId);
      const breakerOpen = (await readBreaker(manager, tenantId)).breaker.state === 'open';
      const cluster = await lockCluster(manager, id);
      if (!cluster || cluster.absentSince) return false;
      const now = this.runtime.now();
      const follows = new Set([cluster.assignment, cluster.adopted?.spec.name]);
      const rollingOut = rolling.some(({ assignment }) => follows.has(assignment));
      const circumstances = { ...this.#circumstances(cluster), rollingOut, breakerOpen };
      if (!isToRotate(circumstances, everySeconds, now.getTime())) return false;
      const deployKeys = beginRotation(cluster.deployKeys, { why: 'schedule', begunAtMs: now.getTime() });
      if (!deployKeys?.next) return false;
      await updateCluster(manager, id, { deployKeys, dueAt: now, touched: cluster.touched + 1 });
      const about = { tenantId, subject: `cluster/${id}`, actor: actorOf(this.runtime.source), reason: 'OK' };
      const { number } = deployKeys.next;
      const data = { ...about, clusterId: id, name: cluster.name, number, step: 'begun', why: 'schedule' } as const;
      await tell(this.runtime, manager, 'dev.fairlead.deploy-key.rotated.v1', data);
      return true;
    });
  }

  #circumstances(cluster: StoredCluster) {
    const { id: clusterId, deployKeys: keys, wish, report, waitsFor, reportedAt, converged, touched } = cluster;
    const heard = (reportedAt?.getTime() ?? 0) > this.runtime.now().getTime() - this.#silenceMs;
    const health = healthInputOf(cluster);
    const healthy = wish !== null && health.report !== null && isHealthy(wish, cluster.revision, health.report);
    return {
      clusterId,
      keys,
      reported: report?.publicKeys ?? [],
      healthy: heard && healthy && converged === touched,
      suspended: wish?.suspend ?? true,
      waits: waitsFor !== null || (report?.problem ?? null) !== null,
    };
  }
}

/** A cluster whose key is to be replaced. */
interface Due {
  readonly id: string;
  readonly hostId: string;
}

/** Begins rotations that are due, of each Git host as many as it has room for. What fails is tried again after growing pauses, and holds up nothing else. */
export class DueRotations {
  readonly #rotations: OneByOne;

  constructor(runtime: Runtime) {
    this.#rotations = new OneByOne(runtime, 'key-rotation');
  }

  /** All that are due, of all hosts: what fails is remembered of those that are named. `rotate` is false if something came between. True if any began. */
  async begin<T extends Due>(
    due: readonly T[],
    roomOf: (hostId: string) => number,
    rotate: (cluster: T) => Promise<boolean>,
  ): Promise<boolean> {
    const begun = new Map<string, number>();
    return this.#rotations.each(
      due,
      ({ id }) => id,
      async (cluster) => {
        const before = begun.get(cluster.hostId) ?? 0;
        if (before >= roomOf(cluster.hostId) || !(await rotate(cluster))) return false;
        begun.set(cluster.hostId, before + 1);
        return true;
      },
    );
  }
}
