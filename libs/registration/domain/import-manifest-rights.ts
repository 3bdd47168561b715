import { FIXED_USER, USER_EXTRA } from '@fairlead/access-rules';
import type { ManifestValues } from '@fairlead/contracts';
import {
  ADMIN_GROUP,
  AGENT,
  LABELS,
  ROLE_GROUPS,
  SECRETS,
  metadata,
  type KubernetesDocument,
} from './import-manifest-names.js';
import { namespaceOf, podSecurityLevel } from './import-manifest-values.js';

export const RBAC = 'rbac.authorization.k8s.io/v1';
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const ADMINS = 'fairlead-admins';

/** The namespace, the agent's service account and all that it may do: impersonate, count nodes, tell which cluster it is, and keep its one Secret. */
export function rightsDocuments(values: ManifestValues): KubernetesDocument[] {
  const { name } = AGENT;
  const namespace = namespaceOf(values);
  const security = podSecurity(podSecurityLevel(values));
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { ...LABELS, ...security } } },
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadata(name, namespace),
      automountServiceAccountToken: false,
    },
    clusterRole(values),
    binding('ClusterRoleBinding', metadata(name), { kind: 'ClusterRole', name }, serviceAccount(namespace)),
    ownObjects(namespace),
    binding('RoleBinding', metadata(name, namespace), { kind: 'Role', name }, serviceAccount(namespace)),
    groupBinding(ADMINS, 'cluster-admin', ADMIN_GROUP),
    ...ROLE_GROUPS.map(({ role, group }) => groupBinding(`fairlead-${role}`, role, group)),
  ];
}

/** What a group may do in the whole cluster. */
function groupBinding(name: string, role: string, group: string): KubernetesDocument {
  const subject = { apiGroup: RBAC_GROUP, kind: 'Group', name: group };
  return binding('ClusterRoleBinding', metadata(name), { kind: 'ClusterRole', name: role }, subject);
}

function podSecurity(level: string): Record<string, string> {
  const modes = ['enforce', 'audit', 'warn'];
  return Object.fromEntries(modes.map((mode) => [`pod-security.kubernetes.io/${mode}`, level]));
}

/**
 * RBAC cannot exclude a prefix, so it lets the agent impersonate any user name; the agent's own policy refuses
 * `system:` ones. Groups are named, because a group is what carries rights here: `system:masters` stays out of reach
 * even of a stolen service account token. No uids, no service accounts (a resource of their own); extras only where they hold the names of users, and then no user
 * but one.
 *
 * Nodes may be listed, to say how many there are and whose, and nothing else: no `get` or `watch`, which the agent has no use for.
 * Whoever takes that rule out loses only those facts. The namespace `kube-system` is read for its UID, by which clusters are told apart.
 */
function clusterRole(values: ManifestValues): KubernetesDocument {
  return {
    apiVersion: RBAC,
    kind: 'ClusterRole',
    metadata: metadata(AGENT.name),
    rules: [
      ...userRules(values),
      {
        apiGroups: [''],
        resources: ['groups'],
        resourceNames: [ADMIN_GROUP, ...ROLE_GROUPS.map(({ group }) => group), 'system:authenticated'],
        verbs: ['impersonate'],
      },
      { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
      { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
    ],
  };
}

function userRules({ userNames }: ManifestValues): Record<string, unknown>[] {
  const users = { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] };
  if (userNames !== 'extra') return [users];
  const extra = {
    apiGroups: ['authentication.k8s.io'],
    resources: [`userextras/${USER_EXTRA}`],
    verbs: ['impersonate'],
  };
  return [{ ...users, resourceNames: [FIXED_USER] }, extra];
}

/**
 * The Secret of its identity, its own Deployment to read, and the Lease of its pods. No `create`: RBAC cannot limit it to a name, which is why the
 * manifest brings them. No `list` or `watch`.
 */
function ownObjects(namespace: string): KubernetesDocument {
  return {
    apiVersion: RBAC,
    kind: 'Role',
    metadata: metadata(AGENT.name, namespace),
    rules: [
      { apiGroups: [''], resources: ['secrets'], resourceNames: [SECRETS.identity], verbs: ['get', 'patch'] },
      { apiGroups: ['apps'], resources: ['deployments'], resourceNames: [AGENT.name], verbs: ['get'] },
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: [AGENT.name],
        verbs: ['get', 'patch'],
      },
    ],
  };
}

/** As the subject of a binding. */
export function serviceAccount(namespace: string, name: string = AGENT.name): Record<string, string> {
  return { kind: 'ServiceAccount', name, namespace };
}

export function binding(
  kind: 'ClusterRoleBinding' | 'RoleBinding',
  meta: Record<string, unknown>,
  role: { kind: 'ClusterRole' | 'Role'; name: string },
  subject: Record<string, string>,
): KubernetesDocument {
  const roleRef = { apiGroup: RBAC_GROUP, ...role };
  return { apiVersion: RBAC, kind, metadata: meta, roleRef, subjects: [subject] };
}
