/** What stands for every cluster without a label of its own. */
export const OTHER = 'other';

/**
 * Which clusters have a label of their own in metrics: as many as the limit allows, first come, until the busiest are
 * known; the others share one. A cluster that is deleted counts no more.
 */
export class ClusterLabels {
  readonly #limit: number;
  readonly #named = new Set<string>();
  /** Since the last ranking, of named clusters and others; one entry per cluster that did anything. */
  #activity = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  labelOf(clusterId: string): string {
    if (this.#named.has(clusterId)) return clusterId;
    if (this.#named.size >= this.#limit) return OTHER;
    this.#named.add(clusterId);
    return clusterId;
  }

  /** This cluster did so much. */
  note(clusterId: string, amount: number): void {
    this.#activity.set(clusterId, (this.#activity.get(clusterId) ?? 0) + amount);
  }

  /** True if it had a label of its own, which is free now. */
  forget(clusterId: string): boolean {
    this.#activity.delete(clusterId);
    return this.#named.delete(clusterId);
  }

  /**
   * Takes labels from those that did least since the last ranking for those that did more, and returns the clusters
   * that lost theirs. What ties stays, so that labels do not change for nothing.
   */
  rank(): string[] {
    const activity = this.#activity;
    const of = (clusterId: string): number => activity.get(clusterId) ?? 0;
    const named = [...this.#named].sort((a, b) => of(a) - of(b));
    const others = [...activity.keys()].filter((id) => !this.#named.has(id)).sort((a, b) => of(b) - of(a));
    this.#activity = new Map();
    const lost: string[] = [];
    for (const [index, busier] of others.entries()) {
      const least = named[index];
      if (least === undefined || of(least) >= of(busier)) break;
      this.#named.delete(least);
      this.#named.add(busier);
      lost.push(least);
    }
    return lost;
  }
}
