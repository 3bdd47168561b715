import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { leaseRepository, releaseRepository, type LeasedRepository } from '../../store/repository-lease-store.js';
import type { DeployKeyRun } from './deploy-key-run.js';

/** Repositories that this process works on at once. They wait for Git hosts nearly all of the time. */
const WORKERS = 32;
/** Longer than a run can take: whoever holds one longer is gone. */
const LEASE_MS = 180_000;
/** Of one host at once, in all processes. */
const PER_HOST = 2;
/** Of one tenant at once, in all processes: whatever its hosts do, most workers are for the others. */
const PER_TENANT = 8;
/** How soon what another process committed is seen, give or take a third, so that processes do not ask in step; what this one did wakes it. */
const POLL_MS = 1_500;
const POLL_JITTER = 1 / 3;

interface DeployKeyLoopOptions {
  readonly database: DataSource;
  readonly keys: Pick<DeployKeyRun, 'run'>;
  readonly logger: Logger;
  /** How often a repository is looked at whose run failed here, not on the host. */
  readonly everyMs: number;
}

/** Keeps the deploy keys of all repositories as they are desired. Created running; dispose of it to stop. */
export class DeployKeyLoop implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #runs = new Set<Promise<void>>();
  readonly #loop: RunLoop;

  constructor(private readonly options: DeployKeyLoopOptions) {
    this.#loop = new RunLoop({
      intervalMs: POLL_MS,
      jitter: POLL_JITTER,
      work: () => this.#startRuns(),
      onFailed: (error) => options.logger.warn('deploy_keys.not_leased', { reason: messageOf(error) }),
    });
  }

  /** Something was committed: look now. */
  poke(): void {
    this.#loop.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#loop[Symbol.asyncDispose]();
    await Promise.all(this.#runs);
  }

  /** As many as are due and there is room for. */
  async #startRuns(): Promise<void> {
    const limits = { leaseMs: LEASE_MS, perHost: PER_HOST, perTenant: PER_TENANT };
    while (this.#runs.size < WORKERS && !this.#stop.signal.aborted) {
      const leased = await inTransaction(this.options.database, (manager) => leaseRepository(manager, limits));
      if (!leased) return;
      const run = this.#run(leased).finally(() => {
        this.#runs.delete(run);
        // There is room for another one.
        this.poke();
      });
      this.#runs.add(run);
    }
  }

  /** Throws nothing. A lease that cannot be given back ends by itself. */
  async #run(leased: LeasedRepository): Promise<void> {
    const { database, keys, logger, everyMs } = this.options;
    const about = { hostId: leased.hostId, path: leased.path };
    const next = await keys.run(leased, this.#stop.signal).catch((error: unknown) => {
      if (this.#stop.signal.aborted) return 'now';
      logger.error('deploy_keys.turn_failed', { ...about, err: error });
      return { everyMs, paceMs: 0, pages: 1 } as const;
    });
    await inTransaction(database, (manager) => releaseRepository(manager, leased, next)).catch((error: unknown) => {
      logger.warn('deploy_keys.not_released', { ...about, reason: messageOf(error) });
    });
  }
}
