import type { ClusterScope } from '@fairlead/contracts';
import type { ScopedRow } from './grant-entities.js';

/** How a scope stands in a table, where it is searched by cluster. */
export function scopeColumns(scope: ClusterScope): Pick<ScopedRow, 'clusterNames' | 'clusterSelector'> {
  return {
    clusterNames: 'names' in scope ? scope.names : null,
    clusterSelector: 'selector' in scope ? scope.selector : null,
  };
}

export function scopeOf({ clusterNames, clusterSelector }: ScopedRow): ClusterScope {
  if (clusterNames !== null) return { names: clusterNames };
  return clusterSelector === null ? { all: true } : { selector: clusterSelector };
}
