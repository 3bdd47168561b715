import { ConcurrencyLimit } from '@fairlead/limits';

const TOTAL = 64;

/**
 * Places for pieces of bundles that an agent has not taken yet: each is held here twice, as it came and as it goes. A cluster has two, as its
 * agent fetches one after the other and may leave one behind on a link that broke; and the clusters of one tenant together have half of a
 * replica's.
 */
export class BundlePlaces {
  readonly #ofClusters = new ConcurrencyLimit({ total: TOTAL, perKey: 2 });
  readonly #ofTenants = new ConcurrencyLimit({ total: TOTAL, perKey: TOTAL / 2 });

  /** What gives the place back, which counts once; null if there is none left for this cluster. */
  take(tenantId: string, clusterId: string): (() => void) | null {
    const leaveTenant = this.#ofTenants.take(tenantId);
    if (!leaveTenant) return null;
    const leaveCluster = this.#ofClusters.take(clusterId);
    if (!leaveCluster) {
      leaveTenant();
      return null;
    }
    return () => {
      leaveCluster();
      leaveTenant();
    };
  }
}
