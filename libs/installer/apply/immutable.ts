import type { KubeObject } from '@fairlead/kube/rest';
import { CATALOG, NAMESPACE, NEXT, SIGNERS } from '../drivers/flux/sources.js';

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

/** What Flux reads by, and whose signatures count. */
const FLUX_SECRETS = new Set([CATALOG, NEXT, SIGNERS]);

const POLICY = /admission webhook "|ValidatingAdmissionPolicy '/u;

/** May an object be deleted and made anew? Never a custom one: what it deployed could go with it. */
export function mayBeMadeAnew({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  return MADE_ANEW.has(`${group}/${kind}`);
}

/**
 * Is this a ConfigMap or Secret that says `immutable: true`, and whose contents are nobody's but ours? Anybody who may write it could keep
 * what is trusted as it is, for good; and nothing of others hangs on it, so that it may be made anew.
 */
export function isFrozenOfOurs(live: KubeObject, oursAlone: boolean): boolean {
  if (live.apiVersion !== 'v1' || live['immutable'] !== true) return false;
  const { name, namespace } = live.metadata;
  if (live.kind === 'Secret' && namespace === NAMESPACE && FLUX_SECRETS.has(name)) return true;
  return oursAlone && (live.kind === 'Secret' || live.kind === 'ConfigMap');
}

/** Did the API server itself say so, whatever the HTTP status? A policy says no in words of its own, which are not believed. */
export function saysImmutable(message: string): boolean {
  return !saysPolicy(message) && IMMUTABLE.some((words) => words.test(message));
}

/** A webhook's or an admission policy's no: the API server puts its name before whatever it says. */
export function saysPolicy(message: string): boolean {
  return POLICY.test(message);
}
