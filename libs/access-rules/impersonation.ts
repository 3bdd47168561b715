import type { CompiledRule } from './decide.js';

/** Whom a request asks to act as (`kubectl --as`). */
export interface AskedIdentity {
  readonly user: string;
  readonly groups: readonly string[];
}

/**
 * Why these rules, which hold the request, do not let it act as this user with these groups; null: they do. Nobody may act as an identity of Kubernetes
 * itself, or with a group of ours.
 */
export function whyNotAs(rules: readonly CompiledRule[], { user, groups }: AskedIdentity): string | null {
  const reserved = [user, ...groups].find(isReserved);
  if (reserved !== undefined) return `nobody may act as "${told(reserved)}"`;
  if (!rules.some(({ impersonate }) => lists(impersonate?.users, user)))
    return `no grant lets you act as "${told(user)}"`;
  const group = groups.find((each) => !rules.some(({ impersonate }) => lists(impersonate?.groups, each)));
  return group === undefined ? null : `no grant lets you act with the group "${told(group)}"`;
}

function lists(words: readonly string[] | undefined, name: string): boolean {
  return words !== undefined && (words.includes(name) || words.includes('*'));
}

/** Case-folded and trimmed, as a component elsewhere might fold too. */
function isReserved(name: string): boolean {
  return /^\s*(system|fairlead):/i.test(name);
}

/** A header may be longer than what people are to read. */
function told(name: string): string {
  return name.slice(0, 128);
}
