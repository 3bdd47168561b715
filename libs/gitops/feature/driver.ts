import type { ClusterEntry, GitHostEntry } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { KeyedRateLimit } from '@fairlead/limits';
import { RunLoop } from '@fairlead/loop';
import type { KvSnapshot } from '@fairlead/messaging';
import { inTransaction, tryAdvisoryLock } from '@fairlead/persistence';
import { LEAP_RATE } from '../domain/next-revision.js';
import { deleteAbsentSince, dueClusters, markAbsent, putClusters, touchClusters } from '../store/cluster-store.js';
import { converge } from './converge.js';
import { readWorld } from './converge-world.js';
import type { KeysPort } from './keys-port.js';
import { commit, read, type Runtime } from './runtime.js';
import { signAgain } from './sign-state.js';

/** Between rounds, if nothing wakes it; another replica's work is found after so long. */
const PERIOD_MS = 1_000;
const RETRY = { baseMs: 500, capMs: 10_000, leastMs: 100 };
/** Looks at everything, in case something was missed. */
const FULL_MS = 600_000;
const BATCH = 100;
/** Clusters looked at, and signatures asked for, at once. */
const PARALLEL = 6;
const FORGET_MS = 30 * 86_400_000;
/** Whose use of revisions is remembered. */
const MAX_CLUSTERS = 20_000;

export interface DriverOptions {
  readonly runtime: Runtime;
  readonly keys: KeysPort;
  readonly clusters: KvSnapshot<ClusterEntry>;
  readonly gitHosts: KvSnapshot<GitHostEntry>;
  /** Further work of a round, before clusters are looked at. True: there is more to do at once. */
  readonly steps?: readonly (() => Promise<boolean>)[];
}

/**
 * Brings the desired states of all clusters to what the specs say, round by round. Of several replicas one drives at a time, by a lock in
 * the database; whatever happens at another is found in its tables. Created running; dispose of it to stop.
 */
export class Driver implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #loop: RunLoop;
  #clustersChanged = true;
  #hostsChanged = true;
  #fullAtMs = 0;
  /** In memory: who takes over begins anew, which happens seldom. */
  readonly #leaps = new KeyedRateLimit(LEAP_RATE, MAX_CLUSTERS);

  constructor(private readonly options: DriverOptions) {
    this.#loop = this.#start();
  }

  /** Something was committed that may change what is desired. */
  poke(): void {
    this.#loop.wake();
  }

  /** The bucket of clusters changed. */
  clustersChanged(): void {
    this.#clustersChanged = true;
    this.poke();
  }

  /** The bucket of Git hosts changed. */
  hostsChanged(): void {
    this.#hostsChanged = true;
    this.poke();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop[Symbol.asyncDispose]();
  }

  #start(): RunLoop {
    const { clusters, gitHosts, runtime } = this.options;
    const stopped = new Promise<void>((resolve) => {
      this.#stop.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const ready = Promise.race([Promise.all([clusters.loaded, gitHosts.loaded]), stopped]);
    return new RunLoop({
      intervalMs: PERIOD_MS,
      retry: RETRY,
      onFailed: (error, { before }) =>
        runtime.logger.log(before === 0 ? 'warn' : 'debug', 'driver.delayed', { reason: messageOf(error) }),
      work: async () => {
        await ready;
        if (this.#stop.signal.aborted) return undefined;
        return (await this.#reconcileOnce()) ? 0 : undefined;
      },
    });
  }

  /** True if there is more to do at once. */
  #reconcileOnce(): Promise<boolean> {
    return inTransaction(this.options.runtime.database, async (manager) => {
      if (!(await tryAdvisoryLock(manager, 'driver'))) {
        // Whoever takes over knows nothing of what it saw before.
        this.#clustersChanged = true;
        this.#fullAtMs = 0;
        return false;
      }
      await this.#follow();
      let more = false;
      for (const step of this.options.steps ?? []) more = (await step()) || more;
      const signed = await signAgain(this.options.runtime, this.options.keys, PARALLEL);
      return (await this.#converge()) || signed === PARALLEL || more;
    });
  }

  /** Takes over what the buckets say. */
  async #follow(): Promise<void> {
    const { runtime, clusters } = this.options;
    const now = runtime.now();
    const full = now.getTime() >= this.#fullAtMs;
    if (this.#clustersChanged || full) {
      this.#clustersChanged = false;
      const entries = [...clusters.entries()].map(([, entry]) => entry);
      await this.#undoIfFailed('clusters', () =>
        commit(runtime, async (manager) => {
          await putClusters(manager, entries, now);
          await markAbsent(
            manager,
            entries.map(({ clusterId }) => clusterId),
            now,
          );
          await deleteAbsentSince(manager, new Date(now.getTime() - FORGET_MS));
        }),
      );
    }
    if (this.#hostsChanged || full) {
      this.#hostsChanged = false;
      await this.#undoIfFailed('hosts', () => commit(runtime, (manager) => touchClusters(manager, 'all', now)));
      this.#fullAtMs = now.getTime() + FULL_MS;
    }
  }

  async #undoIfFailed(what: 'clusters' | 'hosts', work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (what === 'clusters') this.#clustersChanged = true;
      else this.#hostsChanged = true;
      throw error;
    }
  }

  async #converge(): Promise<boolean> {
    const { runtime, keys, gitHosts } = this.options;
    const due = await read(runtime, (manager) => dueClusters(manager, runtime.now(), BATCH));
    if (due.length === 0) return false;
    const hostOf = (tenantId: string, id: string): GitHostEntry | undefined => gitHosts.get(`${tenantId}.${id}`);
    const world = await read(runtime, (manager) => readWorld(manager, { hostOf, leaps: this.#leaps }));
    const waiting = [...due];
    const worker = async (): Promise<void> => {
      for (let cluster = waiting.shift(); cluster; cluster = waiting.shift()) {
        if (this.#stop.signal.aborted) return;
        await this.#apart(cluster.id, () => converge(runtime, keys, world, cluster));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    return due.length === BATCH;
  }

  /** That not even a failure can be written down of one cluster keeps no other from what is desired of it. */
  async #apart(clusterId: string, work: () => Promise<void>): Promise<void> {
    const { logger, onFailed } = this.options.runtime;
    try {
      await work();
    } catch (error) {
      onFailed?.('cluster');
      logger.warn('desired_state.failed', { clusterId, reason: messageOf(error) });
    }
  }
}
