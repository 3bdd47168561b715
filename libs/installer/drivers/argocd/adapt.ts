import { formatKnownHosts, type GitOpsSpec } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { withContainers, type Container } from '../../bundle/pod-template.js';
import { APPLICATION_CONTROLLER, GPG_KEYS, KNOWN_HOSTS, NAMESPACE, REPO_SERVER, SETTINGS } from './kinds.js';
import { readSigningKey } from './open-pgp.js';
import { defaultProject, probeProject } from './projects.js';

/** Kinds without a namespace that install manifests have. Argo CD's leave out the namespace of all others. */
const CLUSTER_WIDE = new Set([
  'APIService',
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'IngressClass',
  'MutatingWebhookConfiguration',
  'Namespace',
  'PriorityClass',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
]);
/** As of a source that does not say. */
const INTERVAL_SECONDS = 60;

/**
 * The manifest in its namespace, trusting exactly the approved host keys in place of those of well-known hosts that it brings, and
 * the signers; and with projects. `lockdown`: nobody gets in by the built-in administrator, or by `exec` into pods, and an Application
 * without a project of its own may deploy nothing. https://argo-cd.readthedocs.io/en/stable/operator-manual/security/
 */
export function adapted(bundle: readonly KubeObject[], spec: GitOpsSpec): KubeObject[] {
  const trusted = trustedThings(spec);
  const placed = bundle
    .map(inNamespace)
    .filter(({ kind, metadata }) => !(kind === 'ConfigMap' && trusted.has(metadata.name)));
  const found = new Map(
    bundle.filter(({ kind }) => kind === 'ConfigMap').map((object) => [object.metadata.name, object]),
  );
  return [
    ...(placed.some(isOurNamespace) ? [] : [namespace()]),
    ...placed.map((object) => configured(object, spec)),
    ...[...trusted].map(([name, data]) => configMap(name, data, found.get(name))),
    defaultProject(spec.lockdown),
    probeProject(),
  ];
}

/** The data of the ConfigMaps that say whom Argo CD believes: all of it. */
function trustedThings({ source }: GitOpsSpec): Map<string, Record<string, string>> {
  const things = new Map([[KNOWN_HOSTS, { ssh_known_hosts: formatKnownHosts(source?.knownHosts ?? []) }]]) as Map<
    string,
    Record<string, string>
  >;
  const { verification } = source ?? {};
  if (verification) {
    const keys = verification.keys.flatMap(({ publicKey }) => {
      const key = readSigningKey(publicKey);
      return key ? [[key.id, publicKey]] : [];
    });
    things.set(GPG_KEYS, Object.fromEntries(keys) as Record<string, string>);
  }
  return things;
}

function configMap(name: string, data: Record<string, string>, found: KubeObject | undefined): KubeObject {
  const metadata = { ...found?.metadata, name, namespace: NAMESPACE };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
}

function inNamespace(object: KubeObject): KubeObject {
  if (CLUSTER_WIDE.has(object.kind) || object.metadata.namespace !== undefined) return object;
  return { ...object, metadata: { ...object.metadata, namespace: NAMESPACE } };
}

function isOurNamespace({ kind, metadata }: KubeObject): boolean {
  return kind === 'Namespace' && metadata.name === NAMESPACE;
}

function namespace(): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
}

function configured(object: KubeObject, spec: GitOpsSpec): KubeObject {
  if (object.kind === 'ConfigMap' && object.metadata.name === SETTINGS && spec.lockdown) {
    const data = { ...(object['data'] as object | undefined), 'admin.enabled': 'false', 'exec.enabled': 'false' };
    return { ...object, data };
  }
  return withContainers(object, (container) => withEnvironment(container, spec));
}

/** Argo CD has one interval for all it follows, and takes it when it starts. */
function withEnvironment(container: Container, { source }: GitOpsSpec): Container {
  const seconds = source?.intervalSeconds ?? INTERVAL_SECONDS;
  const gpg = source?.verification ? { ARGOCD_GPG_ENABLED: 'true' } : {};
  switch (container.name) {
    case APPLICATION_CONTROLLER:
      return withVariables(container, {
        ARGOCD_RECONCILIATION_TIMEOUT: `${seconds}s`,
        ARGOCD_RECONCILIATION_JITTER: `${Math.ceil(seconds / 10)}s`,
        // A fetch that failed once is tried again; one that fails for longer than this is told.
        ARGOCD_REPO_ERROR_GRACE_PERIOD_SECONDS: `${seconds}s`,
        ...gpg,
      });
    case REPO_SERVER:
      return withVariables(container, { ARGOCD_RECONCILIATION_TIMEOUT: `${seconds}s`, ...gpg });
    default:
      return container;
  }
}

function withVariables(container: Container, variables: Readonly<Record<string, string>>): Container {
  const before = (container['env'] ?? []) as readonly { readonly name: string }[];
  const env = before.filter(({ name }) => !Object.hasOwn(variables, name));
  return { ...container, env: [...env, ...Object.entries(variables).map(([name, value]) => ({ name, value }))] };
}
