import { createHash } from 'node:crypto';
import { systemClock, type Clock } from '@fairlead/clock';
import { MAX_CLUSTER_FACTS, NO_TENANT, registrationRpc, type ClusterFacts, type Facts } from '@fairlead/contracts';
import { BoundedMap, KeyedRateLimit, type Rate } from '@fairlead/limits';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { BatchReporter } from './batch-reporter.js';

/** Clusters that wait, and clusters whose last word is remembered; beyond it the oldest gives way, and is told when it speaks next. */
const MAX_CLUSTERS = 20_000;
/** Of one cluster: an agent looks every ten minutes. One that talks all the time is heard this often. */
const RATE: Rate = { burst: 5, perSecond: 1 / 60 };

/** Tells registration what agents say of their clusters: each change once, the newest of each cluster. */
export class FactsReport {
  readonly #reporter: BatchReporter<ClusterFacts>;
  /** Of what was told last, by cluster: a digest, because there may be many. Absent while that is not certain. */
  readonly #told = new BoundedMap<string, string>({ max: MAX_CLUSTERS, overflow: 'forget-oldest' });

  constructor(rpc: RpcClient, logger: Logger, signal: AbortSignal, clock: Clock = systemClock) {
    const rates = new KeyedRateLimit(RATE, MAX_CLUSTERS);
    this.#reporter = new BatchReporter({
      maxPending: MAX_CLUSTERS,
      maxBatch: MAX_CLUSTER_FACTS,
      mayGo: (clusterId) => rates.take(clusterId, clock.monotonicMs()),
      send: async (clusters) => {
        // Of a call that fails, nobody knows whether it was heard.
        for (const { clusterId } of clusters) this.#told.delete(clusterId);
        await rpc.call(registrationRpc.reportFacts, NO_TENANT, { clusters });
        this.#remember(clusters);
      },
      onFailed: (clusters, { code, message }) => {
        logger.warn('facts.report.failed', { clusters: clusters.length, code, reason: message });
        if (code === 'INVALID_ARGUMENT') this.#remember(clusters);
      },
      signal,
      clock,
    });
  }

  /** An agent of this enrolment says this of its cluster. */
  said({ clusterId, generation }: Omit<ClusterFacts, 'facts'>, facts: Facts): void {
    const word = { clusterId, generation, facts };
    if (this.#told.get(clusterId) === digestOf(word)) this.#reporter.takeBack(clusterId);
    else this.#reporter.put(clusterId, word);
  }

  #remember(words: readonly ClusterFacts[]): void {
    for (const word of words) this.#told.set(word.clusterId, digestOf(word));
  }
}

function digestOf({ generation, facts }: ClusterFacts): string {
  return createHash('sha256')
    .update(`${generation} ${JSON.stringify(facts)}`)
    .digest('base64url');
}
