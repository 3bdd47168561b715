import { readTargetHost } from './target-address.js';
import { TargetPolicy, parseTargetRule } from './target-policy.js';

/** What a grant says of raw TCP. */
export interface TargetGrant {
  readonly grantId: string;
  readonly effect: 'allow' | 'deny';
  /** Rules of `parseTargetRule`; of a denial none: all is denied. */
  readonly targets?: readonly string[] | undefined;
}

export interface TargetDecision {
  readonly allowed: boolean;
  /** Of the grant that denies it, or of all that allow it: sorted. */
  readonly grantIds: readonly string[];
  readonly because: string;
}

/**
 * May this target be asked for, by grants that mean the cluster now? A denial wins. A name is held by rules for hosts alone: what it resolves to is seen
 * in the cluster, whose agent holds it to rules of its own.
 */
export function decideTarget(grants: readonly TargetGrant[], host: string, port: number): TargetDecision {
  const denying = grants.filter(({ effect }) => effect === 'deny');
  if (denying.length > 0) return decision(false, denying, 'a grant that denies means this client');
  const allowing = grants.filter((grant) => holds(policyOf(grant), host, port));
  if (allowing.length > 0) return decision(true, allowing, 'what is granted holds this target');
  return decision(false, [], grants.length > 0 ? 'no grant holds this target' : 'there is no grant');
}

const policies = new WeakMap<TargetGrant, TargetPolicy>();

function policyOf(grant: TargetGrant): TargetPolicy {
  const known = policies.get(grant);
  if (known) return known;
  const policy = new TargetPolicy((grant.targets ?? []).map(parseTargetRule), { names: 'listed' });
  policies.set(grant, policy);
  return policy;
}

function holds(policy: TargetPolicy, host: string, port: number): boolean {
  return readTargetHost(host)?.kind === 'name' ? policy.allowsName(host, port) : policy.allowsAddress(host, port);
}

function decision(allowed: boolean, by: readonly TargetGrant[], because: string): TargetDecision {
  return { allowed, grantIds: by.map(({ grantId }) => grantId).toSorted(), because };
}
