import { isForEverybody } from './for-everybody.js';
import { compileNarrowing, isWithin, reaches, type CompiledNarrowing } from './narrowing.js';
import type { RequestAttributes } from './request-attributes.js';
import type { AccessRule, MayImpersonate } from './rule.js';

/** Rules of one person in one cluster, to be decided by as often as there are requests. */
export interface CompiledRules {
  readonly allow: readonly CompiledRule[];
  readonly deny: readonly CompiledRule[];
}

export interface CompiledRule {
  readonly grantId: string;
  readonly groups: readonly string[];
  readonly narrowing: CompiledNarrowing;
  readonly impersonate: MayImpersonate | undefined;
}

/**
 * `granted`: RBAC of the cluster decides next, by these groups. `everybody`: it is one of those that anybody may who has any rule there (see
 * `isForEverybody`). `denied`: a deny rule means it. `not-granted`: no allow rule holds it.
 */
export interface Decision {
  readonly allowed: boolean;
  readonly cause: 'granted' | 'everybody' | 'denied' | 'not-granted';
  /** Kubernetes groups that the request is to be sent with, and no others: sorted, none twice. */
  readonly groups: readonly string[];
  /** Of the grant that denies it, or of all that allow it: sorted, none twice. */
  readonly grantIds: readonly string[];
  /** For people. */
  readonly because: string;
}

/** Rules are not to be changed afterwards. */
export function compileRules(rules: readonly AccessRule[]): CompiledRules {
  return compileBy(rules, compileKnown);
}

/** The same, of rules that nobody else holds, as those of a statement: to remember each one takes as long as to compile it. */
export function compileOwnRules(rules: readonly AccessRule[]): CompiledRules {
  return compileBy(rules, compileRule);
}

function compileBy(rules: readonly AccessRule[], compile: (rule: AccessRule) => CompiledRule): CompiledRules {
  const compiled = (effect: AccessRule['effect']): CompiledRule[] =>
    rules.filter((rule) => rule.effect === effect).map(compile);
  return { allow: compiled('allow'), deny: compiled('deny') };
}

/** Of each rule that somebody still has: one that counts in a thousand clusters is compiled once. */
const compiledRules = new WeakMap<AccessRule, CompiledRule>();

function compileKnown(rule: AccessRule): CompiledRule {
  const known = compiledRules.get(rule);
  if (known) return known;
  const compiled = compileRule(rule);
  compiledRules.set(rule, compiled);
  return compiled;
}

function compileRule({ grantId, groups, narrowing, impersonate }: AccessRule): CompiledRule {
  return { grantId, groups: sorted(groups), narrowing: compileNarrowing(narrowing), impersonate };
}

/**
 * Decides one request. A deny rule that could be got round by it wins over all; of the allow rules that hold it the groups are joined. Their order does
 * not matter.
 */
export function decide(rules: CompiledRules, attributes: RequestAttributes): Decision {
  if (isForEverybody(attributes)) return decideForEverybody(rules);
  const denying = rules.deny.filter(({ narrowing }) => reaches(narrowing, attributes));
  if (denying.length > 0) return denied(denying);
  const holding = allowing(rules, attributes);
  if (holding.length > 0) return granted(holding);
  return refusal('not-granted', [], rules.allow.length > 0 ? 'no grant holds this request' : 'there is no grant');
}

/**
 * A review of oneself speaks of another request, which cannot be seen from here: sent with a group of a grant that is narrowed, or while something is
 * denied, the cluster would say yes to what is refused. So it goes with the groups that hold whatever it speaks of.
 */
function decideForEverybody({ allow, deny }: CompiledRules): Decision {
  const denying = deny.filter(({ narrowing }) => narrowing.isEverything);
  if (denying.length > 0) return denied(denying);
  if (allow.length === 0) return refusal('not-granted', [], 'there is no grant');
  const whole = deny.length > 0 ? [] : allow.filter(({ narrowing }) => narrowing.isEverything);
  if (whole.length > 0) return granted(whole);
  const because = 'anybody may who has been granted anything in this cluster';
  return { allowed: true, cause: 'everybody', groups: [], grantIds: [], because };
}

/** Of all rules that allow anything: for whoever decides again, by what a review speaks of. */
export function everyGroup({ allow }: CompiledRules): readonly string[] {
  return sorted(allow.flatMap(({ groups }) => groups));
}

function denied(by: readonly CompiledRule[]): Decision {
  return refusal('denied', by, 'a grant that denies it means this request');
}

function granted(holding: readonly CompiledRule[]): Decision {
  const [only, another] = holding;
  const groups = only && !another ? only.groups : sorted(holding.flatMap((rule) => rule.groups));
  const because = 'what is granted holds this request; the cluster decides by its own roles for these groups';
  return { allowed: true, cause: 'granted', groups, grantIds: idsOf(holding), because };
}

/** The rules whose words on impersonation count for a request: those that hold it, or all where anybody may. */
export function rulesBehind(rules: CompiledRules, attributes: RequestAttributes): readonly CompiledRule[] {
  return isForEverybody(attributes) ? rules.allow : allowing(rules, attributes);
}

function allowing({ allow }: CompiledRules, attributes: RequestAttributes): readonly CompiledRule[] {
  return allow.filter(({ narrowing }) => isWithin(narrowing, attributes));
}

function refusal(cause: 'denied' | 'not-granted', by: readonly CompiledRule[], because: string): Decision {
  return { allowed: false, cause, groups: [], grantIds: idsOf(by), because };
}

function idsOf(rules: readonly CompiledRule[]): readonly string[] {
  return sorted(rules.map(({ grantId }) => grantId));
}

function sorted(words: readonly string[]): readonly string[] {
  return words.length < 2 ? words : [...new Set(words)].toSorted();
}
