import type { ResourceRequest } from '@fairlead/access-rules';
import type { KubeApiTarget } from '@fairlead/agent';
import {
  accessFromKubeconfig,
  createKubeApi,
  createObjects,
  type ClusterAccess,
  type KubeApi,
  type KubeObject,
  type Objects,
} from '@fairlead/kube/rest';
import { bound, type PolicyRule } from './equal-rbac.js';

/** A kube-apiserver whose roles are filled, as a controller of Kubernetes' would fill them, and bound to the groups of grants. */
export interface GrantedCluster extends Disposable {
  readonly access: ClusterAccess;
  readonly api: KubeApi;
  readonly objects: Objects;
  readonly rulesOf: Readonly<Record<RoleName, readonly PolicyRule[]>>;
  /** As an agent asks: with a token that may impersonate. */
  readonly target: KubeApiTarget;
  /** What RBAC says of somebody (SubjectAccessReview). */
  allows(who: { readonly user: string; readonly groups: readonly string[] }, asked: ResourceRequest): Promise<boolean>;
}

export const ROLES = ['view', 'edit', 'admin', 'cluster-admin'] as const;
export type RoleName = (typeof ROLES)[number];
export const NAMESPACES = ['web', 'other'] as const;

const RBAC = 'rbac.authorization.k8s.io/v1';
const AGENT = { name: 'agent', namespace: 'web' };
const OWNER = { fieldManager: 'test' };

/** Fills an empty one with namespaces, roles and one ConfigMap in each namespace. */
export async function fillGrantedCluster(adminKubeconfigPath: string): Promise<GrantedCluster> {
  const access = await accessFromKubeconfig(adminKubeconfigPath);
  const api = createKubeApi({ access, userAgent: 'test' });
  const objects = createObjects(api);
  for (const object of contents()) await objects.apply(object, OWNER);
  const rulesOf = await fillRoles(api, objects);
  const target = { ...access, token: await agentToken(api) };
  return {
    access,
    api,
    objects,
    rulesOf,
    target,
    allows: (who, asked) => review(api, who, asked),
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

function contents(): KubeObject[] {
  const inEach = NAMESPACES.flatMap((namespace): KubeObject[] => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace }, data: { of: namespace } },
  ]);
  const impersonates = { verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups'] };
  return [
    ...inEach,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: AGENT },
    { apiVersion: RBAC, kind: 'ClusterRole', metadata: { name: 'agent' }, rules: [impersonates] },
    bound('agent', 'ClusterRole', { kind: 'ServiceAccount', ...AGENT }),
    ...ROLES.map((role) => bound(`fairlead:${role}`, 'ClusterRole', group(role), {}, role)),
  ];
}

const group = (role: RoleName): Record<string, string> => {
  return { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: `fairlead:${role}` };
};

/** `view`, `edit` and `admin` are put together of others by the controller manager, which is not here. */
async function fillRoles(api: KubeApi, objects: Objects): Promise<Record<RoleName, readonly PolicyRule[]>> {
  const rulesOf = async (name: string): Promise<PolicyRule[]> => {
    const path = `/apis/${RBAC}/clusterroles/${name}`;
    return (await api.call<{ rules: PolicyRule[] }>({ path, what: `read ${name}` })).rules;
  };
  const view = await rulesOf('system:aggregate-to-view');
  const edit = [...view, ...(await rulesOf('system:aggregate-to-edit'))];
  const admin = [...edit, ...(await rulesOf('system:aggregate-to-admin'))];
  const filled = { view, edit, admin };
  for (const [name, rules] of Object.entries(filled)) {
    const ref = { apiVersion: RBAC, kind: 'ClusterRole', name };
    await objects.patch(ref, { type: 'merge', body: { rules } }, OWNER.fieldManager);
  }
  return { ...filled, 'cluster-admin': await rulesOf('cluster-admin') };
}

async function agentToken(api: KubeApi): Promise<() => Promise<string>> {
  const path = `/api/v1/namespaces/${AGENT.namespace}/serviceaccounts/${AGENT.name}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await api.call<{ status: { token: string } }>({ method: 'POST', path, body, what: 'get a token' });
  return () => Promise.resolve(status.token);
}

async function review(
  api: KubeApi,
  { user, groups }: { readonly user: string; readonly groups: readonly string[] },
  { verb, apiGroup, resource, subresource, namespace, name }: ResourceRequest,
): Promise<boolean> {
  const resourceAttributes = { verb, group: apiGroup, resource, subresource, namespace, name };
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups, resourceAttributes },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const { status } = await api.call<{ status: { allowed: boolean } }>({ method: 'POST', path, body, what: 'review' });
  return status.allowed;
}
