/** What stands for every cluster without a label of its own. */
export const OTHER = 'other';

/**
 * Which clusters have a label of their own in metrics: as many as there are places, first come; the others share one.
 * A cluster that is deleted gives its place back.
 */
export class ClusterLabels {
  readonly #places: number;
  readonly #named = new Set<string>();

  constructor(places: number) {
    this.#places = places;
  }

  labelOf(clusterId: string): string {
    if (this.#named.has(clusterId)) return clusterId;
    if (this.#named.size >= this.#places) return OTHER;
    this.#named.add(clusterId);
    return clusterId;
  }

  /** True if it had a label of its own, which is free now. */
  forget(clusterId: string): boolean {
    return this.#named.delete(clusterId);
  }
}
