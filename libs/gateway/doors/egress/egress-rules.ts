import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError, assertNever } from '@fairlead/errors';
import { TargetPolicy, parseTargetRule, type TargetRule } from '@fairlead/targets';

/** What some clusters may reach on the control plane's side. */
export interface EgressRule {
  readonly clusters:
    | { readonly kind: 'all' }
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'label'; readonly key: string; readonly value: string };
  readonly target: TargetRule;
}

/**
 * Reads `[<cluster name> | <label>=<value>]@<target rule>`, or a target rule alone, which is for every cluster:
 * `git.example.com:22`, `prod-eu@git.example.com:22`, `region=eu@10.1.0.0/16:22`. A block opens addresses, and no name that leads to one.
 * INVALID_ARGUMENT that names the rule.
 */
export function parseEgressRule(text: string): EgressRule {
  const at = text.indexOf('@');
  const target = parseTargetRule(text.slice(at + 1));
  if (target.kind === 'host' && target.labels.every((label) => label === '*')) {
    throw new FairleadError('INVALID_ARGUMENT', `the egress rule ${text} allows every name: name hosts, or a block`);
  }
  if (at < 0) return { clusters: { kind: 'all' }, target };
  const whose = text.slice(0, at);
  const [, key, value] = /^([^=]+)=(.*)$/.exec(whose) ?? [];
  if (key !== undefined && value !== undefined) return { clusters: { kind: 'label', key, value }, target };
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(whose)) {
    throw new FairleadError('INVALID_ARGUMENT', `the egress rule ${text} begins with no name or label of clusters`);
  }
  return { clusters: { kind: 'name', name: whose }, target };
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

function isFor({ clusters }: EgressRule, { name, labels }: ClusterEntry): boolean {
  switch (clusters.kind) {
    case 'all':
      return true;
    case 'name':
      return clusters.name === name;
    case 'label':
      return Object.hasOwn(labels, clusters.key) && labels[clusters.key] === clusters.value;
    default:
      return assertNever(clusters);
  }
}
