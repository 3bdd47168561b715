import { createHash } from 'node:crypto';
import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { MAX_CLUSTER_FACTS, NO_TENANT, registrationRpc, type ClusterFacts, type Facts } from '@fairlead/contracts';
import { toFairleadError } from '@fairlead/errors';
import { KeyedRateLimit, type Rate } from '@fairlead/limits';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';

/** Clusters that wait, and clusters whose last word is remembered; beyond it the oldest gives way, and is told when it speaks next. */
const MAX_CLUSTERS = 20_000;
/** How long words are gathered before they go; also the pause between two batches. */
const GATHER_MS = 1_000;
const RETRY = { baseMs: 1_000, capMs: 60_000 };
/** Of one cluster: an agent looks every ten minutes. One that talks all the time is heard this often. */
const RATE: Rate = { burst: 5, perSecond: 1 / 60 };

/**
 * Tells registration what agents say of their clusters: each change once, the newest of each cluster, many at a time, and later if
 * registration is away. Never blocks and never throws.
 */
export class FactsReport {
  readonly #rpc: RpcClient;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  /** Not told yet, by cluster, oldest first. */
  readonly #pending = new Map<string, ClusterFacts>();
  /** What is being told, or is to be told again because that failed. */
  #batch = new Map<string, ClusterFacts>();
  /** Of what was told last, by cluster: a digest, because there may be many. */
  readonly #told = new Map<string, string>();
  readonly #rates = new KeyedRateLimit(RATE, MAX_CLUSTERS);
  #running = false;

  constructor(rpc: RpcClient, logger: Logger, signal: AbortSignal, clock: Clock = systemClock) {
    this.#rpc = rpc;
    this.#logger = logger;
    this.#signal = signal;
    this.#clock = clock;
  }

  /** An agent of this enrolment says this of its cluster. */
  said({ clusterId, generation }: Omit<ClusterFacts, 'facts'>, facts: Facts): void {
    const word = { clusterId, generation, facts };
    this.#pending.delete(clusterId);
    const asBefore = this.#told.get(clusterId) === digestOf(word);
    if (asBefore && !this.#batch.has(clusterId)) return;
    keepNewest(this.#pending, clusterId, word);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let failures = 0; this.#pending.size + this.#batch.size > 0 && !this.#signal.aborted;) {
      const waitMs = failures === 0 ? GATHER_MS * (0.5 + Math.random()) : fullJitterMs(failures, RETRY);
      await this.#clock.sleep(waitMs, this.#signal).catch(() => undefined);
      if (this.#signal.aborted) break;
      if (this.#batch.size === 0) this.#batch = this.#takeDue();
      if (this.#batch.size > 0) failures = (await this.#tell()) ? 0 : failures + 1;
    }
    this.#running = false;
  }

  /** The next ones whose turn it is. */
  #takeDue(): Map<string, ClusterFacts> {
    const due = new Map<string, ClusterFacts>();
    const nowMs = this.#clock.monotonicMs();
    for (const [clusterId, word] of this.#pending) {
      if (due.size === MAX_CLUSTER_FACTS) break;
      if (!this.#rates.take(clusterId, nowMs)) continue;
      due.set(clusterId, word);
      this.#pending.delete(clusterId);
    }
    return due;
  }

  async #tell(): Promise<boolean> {
    const clusters = [...this.#batch.values()];
    try {
      await this.#rpc.call(registrationRpc.reportFacts, NO_TENANT, { clusters });
    } catch (error) {
      const { code, message } = toFairleadError(error);
      this.#logger.warn('facts.report.failed', { clusters: clusters.length, code, reason: message });
      // What is wrong with these will not be mended by repeating it, and the others must not wait for them.
      if (code !== 'INVALID_ARGUMENT') return false;
    }
    for (const word of clusters) keepNewest(this.#told, word.clusterId, digestOf(word));
    this.#batch = new Map();
    return true;
  }
}

function digestOf({ generation, facts }: ClusterFacts): string {
  return createHash('sha256')
    .update(`${generation} ${JSON.stringify(facts)}`)
    .digest('base64url');
}

function keepNewest<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.keys().next();
  if (map.size > MAX_CLUSTERS && !oldest.done) map.delete(oldest.value);
}
