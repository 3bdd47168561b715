/** A report on its way, as JSON that was checked. */
export interface PendingReport {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly json: Buffer;
}

/** Of all that wait; beyond it the one that waited longest goes, and its agent sends it again within minutes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The newest report of each cluster, first come, first served. */
export class PendingReports {
  readonly #byCluster = new Map<string, PendingReport>();
  readonly #onForgotten: () => void;
  #bytes = 0;

  constructor(onForgotten: () => void) {
    this.#onForgotten = onForgotten;
  }

  get size(): number {
    return this.#byCluster.size;
  }

  /** Takes the place of the cluster's last one. */
  put(report: PendingReport): void {
    const before = this.#byCluster.get(report.clusterId);
    // A key that is there keeps its place in the order.
    this.#byCluster.set(report.clusterId, report);
    this.#bytes += report.json.length - (before?.json.length ?? 0);
    for (const [clusterId, oldest] of this.#byCluster) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#byCluster.delete(clusterId);
      this.#bytes -= oldest.json.length;
      this.#onForgotten();
    }
  }

  /** One that could not be told, unless there is a newer one of its cluster. */
  putBack(report: PendingReport): void {
    if (!this.#byCluster.has(report.clusterId)) this.put(report);
  }

  takeSome(count: number): PendingReport[] {
    const taken = [...this.#byCluster.values()].slice(0, count);
    for (const { clusterId, json } of taken) {
      this.#byCluster.delete(clusterId);
      this.#bytes -= json.length;
    }
    return taken;
  }
}
