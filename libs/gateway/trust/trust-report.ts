import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { toFairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';

const MAX_BATCH = 500;
/** Beyond it the oldest is forgotten: it is reported when its agent links again. */
const MAX_PENDING = 20_000;
/** How long answers are gathered before they go; also the pause between two batches. */
const GATHER_MS = 1_000;
const RETRY = { baseMs: 1_000, capMs: 60_000 };

/** Tells `keys` which clusters' agents hold the trust bundle: each cluster and version once, many at a time. */
export class TrustReport {
  readonly #rpc: RpcClient;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  /** The version that counts, by cluster: not reported yet, oldest first; and reported. */
  readonly #pending = new Set<string>();
  readonly #reported = new Set<string>();
  #version = 0;
  #running = false;

  constructor(rpc: RpcClient, logger: Logger, signal: AbortSignal, clock: Clock = systemClock) {
    this.#rpc = rpc;
    this.#logger = logger;
    this.#signal = signal;
    this.#clock = clock;
  }

  /** The cluster's agent holds this version, and will after a restart. What it held before is of no interest any more. */
  held(clusterId: string, version: number): void {
    if (version < this.#version || version === 0) return;
    if (version > this.#version) {
      this.#version = version;
      this.#pending.clear();
      this.#reported.clear();
    }
    if (this.#reported.has(clusterId)) return;
    this.#pending.add(clusterId);
    if (this.#pending.size > MAX_PENDING) this.#pending.delete(this.#pending.values().next().value as string);
    if (!this.#running) void this.#run();
  }

  /** One batch after the other; while `keys` is away, a try a minute. */
  async #run(): Promise<void> {
    this.#running = true;
    for (let failures = 0; this.#pending.size > 0 && !this.#signal.aborted;) {
      const waitMs = failures === 0 ? GATHER_MS * (0.5 + Math.random()) : fullJitterMs(failures, RETRY);
      await this.#clock.sleep(waitMs, this.#signal).catch(() => undefined);
      if (this.#signal.aborted) break;
      failures = (await this.#reportSome()) ? 0 : failures + 1;
    }
    this.#running = false;
  }

  async #reportSome(): Promise<boolean> {
    const version = this.#version;
    const clusterIds = [...this.#pending].slice(0, MAX_BATCH);
    const held = clusterIds.map((clusterId) => ({ clusterId, version }));
    try {
      await this.#rpc.call(keysRpc.acknowledgeTrust, NO_TENANT, { held });
    } catch (error) {
      const { code, message } = toFairleadError(error);
      this.#logger.warn('trust.report.failed', { version, clusters: held.length, code, reason: message });
      // What is wrong with these will not be mended by repeating it, and the others must not wait for them.
      if (code === 'INVALID_ARGUMENT' && version === this.#version) this.#remove(clusterIds);
      return false;
    }
    this.#logger.info('trust.reported', { version, clusters: held.length });
    if (version === this.#version) {
      this.#remove(clusterIds);
      for (const clusterId of clusterIds) this.#reported.add(clusterId);
    }
    return true;
  }

  #remove(clusterIds: readonly string[]): void {
    for (const clusterId of clusterIds) this.#pending.delete(clusterId);
  }
}
