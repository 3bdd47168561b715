import { isApiRole, isInForce, scopeFilter, type ClusterEntry, type Grant } from '@fairlead/contracts';

/** The names of those clusters that a grant means now that allows something there, in order. A denial hides no cluster. */
export function clustersMeant(
  grants: readonly Grant[],
  clusters: readonly Pick<ClusterEntry, 'name' | 'labels'>[],
  now: Date,
): string[] {
  const allowing = grants.filter(
    (grant) => grant.effect === 'allow' && !isApiRole(grant.role) && isInForce(grant, now.getTime()),
  );
  const scopes = allowing.map(({ clusters: scope }) => scopeFilter(scope));
  const meant = clusters.filter((cluster) => scopes.some((means) => means(cluster)));
  return meant.map(({ name }) => name).toSorted();
}
