import type { Clock } from '@fairlead/clock';
import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { BatchReporter } from '../reporting/batch-reporter.js';

interface Held {
  readonly clusterId: string;
  readonly version: number;
}

/** Tells `keys` which clusters' agents hold the trust bundle: each cluster and version once, many at a time. */
export class TrustReport {
  readonly #reporter: BatchReporter<Held>;
  /** Clusters whose agent was reported to hold the version that counts. */
  readonly #reported = new Set<string>();
  #version = 0;

  constructor(rpc: RpcClient, logger: Logger, signal: AbortSignal, clock?: Clock) {
    this.#reporter = new BatchReporter({
      // One that gave way is reported when its agent links again.
      maxPending: 20_000,
      maxBatch: 500,
      send: async (held) => {
        await rpc.call(keysRpc.acknowledgeTrust, NO_TENANT, { held });
        logger.info('trust.reported', { version: held[0]?.version, clusters: held.length });
        for (const { clusterId, version } of held) if (version === this.#version) this.#reported.add(clusterId);
      },
      onFailed: (held, { code, message }) =>
        logger.warn('trust.report.failed', {
          version: held[0]?.version,
          clusters: held.length,
          code,
          reason: message,
        }),
      signal,
      ...(clock ? { clock } : {}),
    });
  }

  /** The cluster's agent holds this version, and will after a restart. What it held before is of no interest any more. */
  held(clusterId: string, version: number): void {
    if (version < this.#version || version === 0) return;
    if (version > this.#version) {
      this.#version = version;
      this.#reporter.clear();
      this.#reported.clear();
    }
    if (!this.#reported.has(clusterId)) this.#reporter.put(clusterId, { clusterId, version });
  }
}
