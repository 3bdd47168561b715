import type { KubeObject } from '@fairlead/kube/rest';

/** What nothing of others hangs on: deleting one of these and making it anew costs its pods, a virtual address or a moment without rights. */
const MADE_ANEW = new Set([
  'apps/Deployment',
  'apps/StatefulSet',
  'apps/DaemonSet',
  'batch/Job',
  '/Service',
  'rbac.authorization.k8s.io/RoleBinding',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
]);

/** As the validation of the API server says it, kind by kind; none says it by a code. */
const IMMUTABLE = [
  /field is immutable/u,
  /cannot change roleRef/u,
  /may not change once set/u,
  /may not be changed in an update/u,
  /updates to statefulset spec for fields other than/u,
];

const POLICY = /admission webhook "|ValidatingAdmissionPolicy '/u;

/** May an object be deleted and made anew? Never a custom one: what it deployed could go with it. */
export function mayBeMadeAnew({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  return MADE_ANEW.has(`${group}/${kind}`);
}

/** Did the API server itself say so, whatever the HTTP status? A policy says no in words of its own, which are not believed. */
export function saysImmutable(message: string): boolean {
  return !saysPolicy(message) && IMMUTABLE.some((words) => words.test(message));
}

/** A webhook's or an admission policy's no: the API server puts its name before whatever it says. */
export function saysPolicy(message: string): boolean {
  return POLICY.test(message);
}
