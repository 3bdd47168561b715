import { DEFAULT_TENANT, TenantId, type ClusterEntry } from '@fairlead/contracts';
import { FairleadError, assertNever } from '@fairlead/errors';
import { TargetPolicy, parseTargetRule, type TargetRule } from '@fairlead/targets';

/** What some clusters may reach on the control plane's side. */
export interface EgressRule {
  readonly clusters: ClustersOfRule;
  readonly target: TargetRule;
}

/** Names and labels are any tenant's to give its own clusters, so they tell clusters of one tenant apart, and no tenants. */
type ClustersOfRule =
  | { readonly kind: 'all' }
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'name'; readonly tenantId: string; readonly name: string }
  | { readonly kind: 'label'; readonly tenantId: string; readonly key: string; readonly value: string };

/**
 * Reads `[<tenant>:](<cluster name> | <label>=<value> | *)@<target rule>`, or a target rule alone, which is for every cluster of every tenant:
 * `git.example.com:22`, `prod-eu@git.example.com:22`, `acme:region=eu@10.1.0.0/16:22`. Without a tenant it is for clusters of `default`. A block opens addresses,
 * and no name that leads to one. INVALID_ARGUMENT that names the rule.
 */
export function parseEgressRule(text: string): EgressRule {
  const at = text.indexOf('@');
  const target = parseTargetRule(text.slice(at + 1));
  if (target.kind === 'host' && target.labels.every((label) => label === '*')) {
    throw new FairleadError('INVALID_ARGUMENT', `the egress rule ${text} allows every name: name hosts, or a block`);
  }
  if (at < 0) return { clusters: { kind: 'all' }, target };
  const clusters = clustersOf(text.slice(0, at));
  if (!clusters) {
    throw new FairleadError('INVALID_ARGUMENT', `the egress rule ${text} begins with no name or label of clusters`);
  }
  return { clusters, target };
}

function clustersOf(whose: string): ClustersOfRule | null {
  const [, tenant, which = ''] = /^(?:([^:=]*):)?(.*)$/.exec(whose) ?? [];
  const tenantId = tenant ?? DEFAULT_TENANT;
  if (!TenantId.safeParse(tenantId).success) return null;
  const [, key, value] = /^([^=]+)=(.*)$/.exec(which) ?? [];
  if (key !== undefined && value !== undefined) return { kind: 'label', tenantId, key, value };
  if (which === '*') return { kind: 'tenant', tenantId };
  return /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(which) ? { kind: 'name', tenantId, name: which } : null;
}

/** The policy of each cluster. No rule, nothing. */
export class EgressPolicies {
  readonly #rules: readonly EgressRule[];
  /** Whoever is renamed or labelled anew is another entry. */
  readonly #known = new WeakMap<ClusterEntry, TargetPolicy>();

  constructor(rules: readonly EgressRule[]) {
    this.#rules = rules;
  }

  of(cluster: ClusterEntry): TargetPolicy {
    const known = this.#known.get(cluster);
    if (known) return known;
    const rules = this.#rules.filter((rule) => isFor(rule, cluster)).map(({ target }) => target);
    // What listens on this machine's loopback is the control plane itself, and what its resolver knows is nobody's but its own.
    const policy = new TargetPolicy(rules, { loopback: 'guarded', names: 'listed' });
    this.#known.set(cluster, policy);
    return policy;
  }
}

function isFor({ clusters }: EgressRule, { tenantId, name, labels }: ClusterEntry): boolean {
  if (clusters.kind !== 'all' && clusters.tenantId !== tenantId) return false;
  switch (clusters.kind) {
    case 'all':
    case 'tenant':
      return true;
    case 'name':
      return clusters.name === name;
    case 'label':
      return Object.hasOwn(labels, clusters.key) && labels[clusters.key] === clusters.value;
    default:
      return assertNever(clusters);
  }
}
