import { z } from 'zod';

/** What a grant gives in a cluster. Each is a fixed group, which the import manifest binds to Kubernetes' own ClusterRole of the same name. */
export const ClusterRoleName = z.enum(['view', 'edit', 'admin', 'cluster-admin']);
export type ClusterRoleName = z.infer<typeof ClusterRoleName>;

/** The group that somebody with this role is impersonated with. */
export function groupOfRole(role: ClusterRoleName): string {
  return `fairlead:${role}`;
}

const MAX_ITEMS = 64;
const items = z.array(z.string().min(1).max(253)).min(1).max(MAX_ITEMS);

const words = (pattern: RegExp, what: string) =>
  z.array(z.string().max(253).regex(pattern, what)).min(1).max(MAX_ITEMS);

/**
 * Which requests of those that a role allows. What is left out says nothing. Words are those of a PolicyRule of RBAC: `*` is all, a resource with
 * its subresource is `pods/log`, one of every resource begins with a star, the core API group is the empty string. One that speaks of resources (groups, resources,
 * namespaces, names) holds no requests for URLs that are no resource, and one that speaks of URLs no others, unless it speaks of both. Words that RBAC
 * would take, and that could never hold anything, are refused: a denial would seem to be there.
 */
export const Narrowing = z.strictObject({
  verbs: words(/^(\*|[a-z]{1,63})$/, 'a verb is one lower-case word, or *').optional(),
  apiGroups: words(/^(\*|[a-z0-9.-]*)$/, 'an API group is a domain name, nothing for the core group, or *').optional(),
  resources: words(
    /^(\*|(\*\/)?[a-z0-9.-]+|[a-z0-9.-]+\/[a-z0-9.-]+)$/,
    'write a resource as pods, pods/log, */log or *; pods alone does not mean pods/log, and pods/* is no word of RBAC',
  ).optional(),
  namespaces: words(
    /^(\*|[a-z0-9-]{1,63})$/,
    'a namespace is a name of lower-case letters, digits and dashes, or *',
  ).optional(),
  /** Names of objects. They hold no `list`, `watch` or `create` but of one name, as in RBAC. */
  names: words(/^[^/%*]+$/, 'the name of an object holds no slash, percent sign or star').optional(),
  /** Paths, `*` at the end for whatever follows. */
  nonResourceUrls: words(
    /^(\*|\/[\x21-\x29\x2b-\x7e]*\*?)$/,
    'a URL begins with a slash, and * stands at its end, or alone',
  ).optional(),
});
export type Narrowing = z.infer<typeof Narrowing>;

/** Whom `kubectl --as` may name; `*` is everybody but `system:` identities. Never our own groups. */
export const MayImpersonate = z.strictObject({ users: items.optional(), groups: items.optional() });
export type MayImpersonate = z.infer<typeof MayImpersonate>;

/** What one grant says in one cluster. */
export const AccessRule = z.strictObject({
  /** Of the grant. */
  grantId: z.uuid(),
  /** `deny` wins over every `allow`; its groups mean nothing. */
  effect: z.enum(['allow', 'deny']),
  /** Kubernetes groups that a request within the narrowing is sent with. */
  groups: z.array(z.string().min(1).max(256)).max(16),
  narrowing: Narrowing,
  impersonate: MayImpersonate.optional(),
});
export type AccessRule = z.infer<typeof AccessRule>;
