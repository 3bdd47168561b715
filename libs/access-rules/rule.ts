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

/**
 * Which requests of those that a role allows. What is left out says nothing. Words are those of a PolicyRule of RBAC: `*` is all, a resource with
 * its subresource is `pods/log`, the core API group is the empty string. With anything about resources, and no `nonResourceUrls`, requests for
 * URLs that are no resource are outside of it, except those that every user of Kubernetes may see (`system:discovery`).
 */
export const Narrowing = z.strictObject({
  verbs: items.optional(),
  apiGroups: z.array(z.string().max(253)).min(1).max(MAX_ITEMS).optional(),
  resources: items.optional(),
  namespaces: items.optional(),
  /** Names of objects. They hold no `list`, `watch` or `create` but of one name, as in RBAC. */
  names: items.optional(),
  /** Paths, `*` at the end for whatever follows. */
  nonResourceUrls: items.optional(),
});
export type Narrowing = z.infer<typeof Narrowing>;

/** Whom `kubectl --as` may name; `*` is everybody but `system:` identities. */
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
