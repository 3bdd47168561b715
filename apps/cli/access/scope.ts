import { Option, type Command } from 'commander';
import { collected } from '../commands/option-values.js';
import { usage } from '../failure.js';

/** Which clusters. */
export type ClusterScope =
  | { readonly names: readonly string[] }
  | { readonly selector: string }
  | { readonly all: true };

export interface ScopeOptions {
  readonly cluster?: readonly string[];
  readonly clusters?: string;
  readonly allClusters?: true;
}

/** `--cluster`, `--clusters` and `--all-clusters`, of which one is given. */
export function addScopeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--cluster <name>', 'a cluster; may be repeated')
        .argParser(collected)
        .conflicts(['clusters', 'allClusters']),
    )
    .addOption(
      new Option('--clusters <selector>', "clusters by their labels, those to come included: 'env=staging'").conflicts(
        'allClusters',
      ),
    )
    .addOption(new Option('--all-clusters', 'every cluster, those to come included'));
}

/** What is said of clusters, if anything is. */
export function scopeIn({ cluster, clusters, allClusters }: ScopeOptions): ClusterScope | undefined {
  if (cluster !== undefined) return { names: cluster };
  if (clusters !== undefined) return { selector: clusters };
  return allClusters ? { all: true } : undefined;
}

/** The same, which has to be said. */
export function scopeOf(options: ScopeOptions): ClusterScope {
  const scope = scopeIn(options);
  if (!scope)
    throw usage(
      'it is not said which clusters are meant',
      "add --cluster NAME, --clusters 'env=staging' or --all-clusters",
    );
  return scope;
}

/** `shop-eu, shop-us`, `env=staging`, `all clusters`. */
export function scopeText(scope: ShownScope): string {
  if (scope.all) return 'all clusters';
  return scope.selector ?? scope.names?.join(', ') ?? '';
}

interface ShownScope {
  readonly names?: readonly string[] | undefined;
  readonly selector?: string | undefined;
  readonly all?: boolean | undefined;
}
