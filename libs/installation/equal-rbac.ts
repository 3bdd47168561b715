import type { Narrowing } from '@fairlead/access-rules';
import type { KubeObject } from '@fairlead/kube/rest';

/** As much of RBAC's PolicyRule as roles have that grants are narrowed from. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

const RBAC = 'rbac.authorization.k8s.io';

/**
 * Roles and bindings that give this user what the rules of a role and a narrowing both hold. For subresources that count as `create` RBAC has no words:
 * whoever compares has to ask for that as well.
 */
export function equalRbac(user: string, rules: readonly PolicyRule[], narrowing: Narrowing): KubeObject[] {
  const narrowed = rules.map((rule) => narrowedRule(rule, narrowing)).filter((rule) => rule !== undefined);
  const { namespaces } = narrowing;
  const places = namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  const kind = namespaces === undefined ? 'ClusterRole' : 'Role';
  return places.flatMap((place) => [
    { apiVersion: `${RBAC}/v1`, kind, metadata: { name: user, ...place }, rules: narrowed },
    bound(user, kind, { kind: 'User', apiGroup: RBAC, name: user }, place),
  ]);
}

/** Binds a role to somebody, in a namespace or everywhere. */
export function bound(
  name: string,
  kind: 'Role' | 'ClusterRole',
  subject: Readonly<Record<string, string>>,
  place: { readonly namespace?: string } = {},
  role = name,
): KubeObject {
  const binding = place.namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding';
  const roleRef = { apiGroup: RBAC, kind, name: role };
  return { apiVersion: `${RBAC}/v1`, kind: binding, metadata: { name, ...place }, roleRef, subjects: [subject] };
}

function narrowedRule(rule: PolicyRule, { verbs, apiGroups, resources, names }: Narrowing): PolicyRule | undefined {
  const { apiGroups: groups, resources: ofRule } = rule;
  if (!groups || !ofRule) return undefined;
  const narrowed = {
    verbs: common(rule.verbs, verbs),
    apiGroups: common(groups, apiGroups),
    resources: common(ofRule, resources),
  };
  if (Object.values(narrowed).some((words) => words.length === 0)) return undefined;
  const resourceNames = rule.resourceNames ? common(rule.resourceNames, names) : names;
  if (resourceNames?.length === 0) return undefined;
  return { ...narrowed, ...(resourceNames ? { resourceNames } : {}) };
}

/** The words that mean what both lists mean. */
function common(own: readonly string[], asked: readonly string[] | undefined): string[] {
  if (asked === undefined) return [...own];
  const within = (word: string, others: readonly string[]): boolean => others.some((wide) => includes(wide, word));
  const both = [...own.filter((word) => within(word, asked)), ...asked.filter((word) => within(word, own))];
  return [...new Set(both)];
}

function includes(wide: string, narrow: string): boolean {
  return wide === '*' || wide === narrow || (wide.startsWith('*/') && narrow.endsWith(wide.slice(1)));
}
