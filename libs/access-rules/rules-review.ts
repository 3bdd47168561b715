import { z } from 'zod';
import { isForEverybody } from './for-everybody.js';
import type { AccessRule, Narrowing } from './rule.js';
import { read } from './self-review.js';

/** Of what a kube-apiserver answers to a SelfSubjectRulesReview. */
export const MAX_RULES_ANSWER_BYTES = 4 * 1_048_576;

/** How a SelfSubjectRulesReview is sent on. */
export interface AskedRules {
  /** Of all rules that may mean something in its namespace: more than any one request is sent with. */
  readonly groups: readonly string[];
  readonly body: string;
  readonly namespace: string;
}

const RulesReview = z.object({ spec: z.object({ namespace: z.string().max(253).default('') }) });

const items = z.array(z.string()).nullish();
const ResourceRule = z.looseObject({ verbs: items, apiGroups: items, resources: items, resourceNames: items });
const UrlRule = z.looseObject({ verbs: items, nonResourceURLs: items });
const Answer = z.looseObject({
  status: z.looseObject({
    resourceRules: z.array(ResourceRule).nullish(),
    nonResourceRules: z.array(UrlRule).nullish(),
    incomplete: z.boolean().default(false),
    evaluationError: z.string().optional(),
  }),
});
type ResourceRule = z.infer<typeof ResourceRule>;
type UrlRule = z.infer<typeof UrlRule>;

/** INVALID_ARGUMENT for what is no SelfSubjectRulesReview. */
export function askRules(rules: readonly AccessRule[], body: string): AskedRules {
  const { spec } = read(RulesReview, body, 'SelfSubjectRulesReview');
  const groups = [...new Set(thoseIn(rules, spec.namespace).flatMap((rule) => rule.groups))].toSorted();
  const asked = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec };
  return { groups, body: JSON.stringify(asked), namespace: spec.namespace };
}

/**
 * A kube-apiserver's answer, without what no grant holds. Lists of rules cannot say all that grants do (which groups go with which narrowing, and what
 * is denied), so it is marked incomplete unless there is nothing to say. INVALID_ARGUMENT for what is no such answer.
 */
export function narrowRules(rules: readonly AccessRule[], namespace: string, body: string): string {
  const answer = read(Answer, body, 'SelfSubjectRulesReview');
  const allowing = thoseIn(rules, namespace).map(({ narrowing }) => narrowing);
  const isExact = rules.every(({ effect, narrowing }) => effect === 'allow' && Object.keys(narrowing).length === 0);
  if (isExact) return body;
  const { resourceRules, nonResourceRules } = answer.status;
  const status = {
    ...answer.status,
    resourceRules: productOf(resourceRules ?? [], allowing, narrowResources),
    nonResourceRules: productOf(nonResourceRules ?? [], allowing, narrowUrls),
    incomplete: true,
    evaluationError: 'fairlead: narrowed by grants; ask for one verb and resource to be sure',
  };
  return `${JSON.stringify({ ...answer, status })}\n`;
}

/** More of them are of no use to anybody who reads them. */
const MAX_PRODUCT = 2_000;

function productOf<T>(
  rules: readonly T[],
  narrowings: readonly Narrowing[],
  narrow: (rule: T, narrowing: Narrowing) => T | null,
): T[] {
  const found = new Map<string, T>();
  for (const rule of rules) {
    for (const narrowing of narrowings) {
      if (found.size >= MAX_PRODUCT) return [...found.values()];
      const narrowed = narrow(rule, narrowing);
      if (narrowed) found.set(JSON.stringify(narrowed), narrowed);
    }
  }
  return [...found.values()];
}

function thoseIn(rules: readonly AccessRule[], namespace: string): AccessRule[] {
  return rules.filter(
    ({ effect, narrowing: { namespaces } }) =>
      effect === 'allow' && (!namespaces || namespaces.includes('*') || namespaces.includes(namespace)),
  );
}

const speaksOfResources = ({ apiGroups, resources, namespaces, names }: Narrowing): boolean =>
  [apiGroups, resources, namespaces, names].some((part) => part !== undefined);

function narrowResources(rule: ResourceRule, narrowing: Narrowing): ResourceRule | null {
  if (narrowing.nonResourceUrls && !speaksOfResources(narrowing)) return null;
  const verbs = common(rule.verbs, narrowing.verbs);
  const apiGroups = common(rule.apiGroups, narrowing.apiGroups);
  const resources = common(rule.resources, narrowing.resources, commonResource);
  const names = narrowing.names
    ? common(rule.resourceNames?.length ? rule.resourceNames : ['*'], narrowing.names)
    : rule.resourceNames;
  if ([verbs, apiGroups, resources].some((part) => part.length === 0) || (narrowing.names && names?.length === 0)) {
    return null;
  }
  return { ...rule, verbs, apiGroups, resources, ...(names ? { resourceNames: names } : {}) };
}

function narrowUrls(rule: UrlRule, narrowing: Narrowing): UrlRule | null {
  if (!narrowing.nonResourceUrls && speaksOfResources(narrowing)) {
    // What every user of Kubernetes sees, and tools ask for first.
    const paths = (rule.nonResourceURLs ?? []).filter((path) => isForEverybody({ kind: 'url', verb: 'get', path }));
    return paths.length > 0 && rule.verbs?.includes('get') ? { ...rule, verbs: ['get'], nonResourceURLs: paths } : null;
  }
  const verbs = common(rule.verbs, narrowing.verbs);
  const paths = common(rule.nonResourceURLs, narrowing.nonResourceUrls, commonPath);
  return verbs.length > 0 && paths.length > 0 ? { ...rule, verbs, nonResourceURLs: paths } : null;
}

/** What both lists mean; a list that is not there means all, and so does one with a star. */
function common(
  ours: readonly string[] | null | undefined,
  theirs: readonly string[] | undefined,
  both: (one: string, other: string) => string | null = (one, other) => (one === other ? one : null),
): string[] {
  if (!theirs || theirs.includes('*')) return [...(ours ?? [])];
  if (ours?.includes('*')) return [...theirs];
  return [...new Set((ours ?? []).flatMap((one) => theirs.flatMap((other) => both(one, other) ?? [])))];
}

/** A star, a slash and a subresource mean that of every resource. */
function commonResource(one: string, other: string): string | null {
  if (one === other) return one;
  const [starred, plain] = one.startsWith('*/') ? [one, other] : [other, one];
  return starred.startsWith('*/') && plain.endsWith(starred.slice(1)) ? plain : null;
}

/** A star at the end means whatever follows; the longer one of two is what both mean. */
function commonPath(one: string, other: string): string | null {
  const [longer, shorter] = one.length >= other.length ? [one, other] : [other, one];
  if (longer === shorter) return longer;
  return shorter.endsWith('*') && longer.startsWith(shorter.slice(0, -1)) ? longer : null;
}
