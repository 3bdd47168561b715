import type { ClusterScope } from './access.js';
import type { GrantEntry } from './granted.js';
import { parseLabelSelector, selectsLabels } from './label-selector.js';

interface KnownCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Says of a cluster whether the scope means it; a selector is read once. */
export function scopeFilter(scope: ClusterScope): (cluster: KnownCluster) => boolean {
  if ('all' in scope) return () => true;
  if ('names' in scope) {
    const names = new Set(scope.names);
    return ({ name }) => names.has(name);
  }
  const requirements = parseLabelSelector(scope.selector);
  return ({ labels }) => selectsLabels(requirements, labels);
}

/** From its begin, which is in, to its end, which is not. */
export function isInForce(
  { notBefore, expiresAt }: Pick<GrantEntry, 'notBefore' | 'expiresAt'>,
  nowMs: number,
): boolean {
  if (notBefore !== null && nowMs < Date.parse(notBefore)) return false;
  return expiresAt === null || nowMs < Date.parse(expiresAt);
}
