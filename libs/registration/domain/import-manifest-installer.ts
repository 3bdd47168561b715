import { HANDOVER } from '@fairlead/desired-state/carried';
import {
  INSTALLER,
  INSTALLER_LABELS,
  metadata,
  type InstallerManifestInput,
  type KubernetesDocument,
} from './import-manifest-names.js';
import { CONTAINER, DNS_PORTS, POD, imageFields } from './import-manifest-pods.js';
import { RBAC, binding, serviceAccount } from './import-manifest-rights.js';
import { namespaceOf, placement, podMetadata } from './import-manifest-values.js';

const HANDOVER_ROLE = 'fairlead-agent-handover';
/** Where API servers listen: most, kubeadm and k3s, minikube, MicroK8s. */
const API_SERVER_PORTS = [443, 6443, 8443, 16_443];
/** Of its metrics, on loopback: nobody outside the pod is to ask it anything. */
const HEALTH_LISTEN = '127.0.0.1:8080';
/** Nobody comes in from outside, the kubelet neither: it asks from inside. Node takes a while to start on a busy node. */
const LIVENESS = {
  exec: {
    command: [
      'node',
      '-e',
      `fetch('http://${HEALTH_LISTEN}/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`,
    ],
  },
  initialDelaySeconds: 30,
  periodSeconds: 60,
  timeoutSeconds: 20,
  failureThreshold: 3,
};

/** The ConfigMaps between agent and installer, the agent's rights to them, and the installer with its own. */
export function installerDocuments(input: InstallerManifestInput): KubernetesDocument[] {
  const namespace = namespaceOf(input.values);
  const { name } = INSTALLER;
  return [
    handoverMap(namespace, HANDOVER.desiredState),
    handoverMap(namespace, HANDOVER.bundle),
    handoverRole(namespace),
    binding(
      'RoleBinding',
      metadata(HANDOVER_ROLE, namespace),
      { kind: 'Role', name: HANDOVER_ROLE },
      serviceAccount(namespace),
    ),
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadata(name, namespace, INSTALLER_LABELS),
      automountServiceAccountToken: false,
    },
    // A GitOps tool brings CRDs, cluster-wide roles and whatever else its next version needs; nobody may grant what they do not have.
    binding(
      'ClusterRoleBinding',
      metadata(name, undefined, INSTALLER_LABELS),
      { kind: 'ClusterRole', name: 'cluster-admin' },
      serviceAccount(namespace, name),
    ),
    networkPolicy(namespace),
    deployment(input, namespace),
  ];
}

/** Without `data`: the agent writes it, and applying the manifest again leaves it alone. */
function handoverMap(namespace: string, name: string): KubernetesDocument {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata(name, namespace) };
}

/** No `create` here either: RBAC cannot limit it to a name. `list` and `watch` of the one name are for an agent that watches. */
function handoverRole(namespace: string): KubernetesDocument {
  const maps = { apiGroups: [''], resources: ['configmaps'] };
  return {
    apiVersion: RBAC,
    kind: 'Role',
    metadata: metadata(HANDOVER_ROLE, namespace),
    rules: [
      { ...maps, resourceNames: [HANDOVER.desiredState, HANDOVER.bundle], verbs: ['get', 'patch'] },
      { ...maps, resourceNames: [HANDOVER.report], verbs: ['get', 'list', 'watch'] },
    ],
  };
}

/** In: nothing. Out: names, and the API server. */
function networkPolicy(namespace: string): KubernetesDocument {
  const dns = ['UDP', 'TCP'].flatMap((protocol) => DNS_PORTS.map((port) => ({ protocol, port })));
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadata(INSTALLER.name, namespace, INSTALLER_LABELS),
    spec: {
      podSelector: { matchLabels: INSTALLER.selector },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [{ ports: dns }, { ports: API_SERVER_PORTS.map((port) => ({ protocol: 'TCP', port })) }],
    },
  };
}

function deployment(input: InstallerManifestInput, namespace: string): KubernetesDocument {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata(INSTALLER.name, namespace, INSTALLER_LABELS),
    spec: {
      replicas: 1,
      // Of two only one acts, by a Lease: the old one goes first, and gives it back.
      strategy: { type: 'Recreate' },
      selector: { matchLabels: INSTALLER.selector },
      template: { metadata: podMetadata(input.values, { labels: INSTALLER_LABELS }), spec: podSpec(input) },
    },
  };
}

function podSpec(input: InstallerManifestInput): Record<string, unknown> {
  return {
    serviceAccountName: INSTALLER.name,
    ...POD,
    ...placement(input.values),
    containers: [
      {
        name: 'installer',
        ...imageFields(input.image),
        env: Object.entries(environment(input)).map(([name, value]) => ({ name, value })),
        livenessProbe: LIVENESS,
        ...CONTAINER,
      },
    ],
  };
}

function environment({ clusterId, pins, trustDomain, values }: InstallerManifestInput): Record<string, string> {
  return {
    FAIRLEAD_CLUSTER_ID: clusterId,
    FAIRLEAD_TRUST_DOMAIN: trustDomain,
    FAIRLEAD_ROOT_PINS: pins.join(','),
    FAIRLEAD_NAMESPACE: namespaceOf(values),
    FAIRLEAD_PREFLIGHT_PORTS: API_SERVER_PORTS.join(','),
    // Only that there is one: it dials nothing but the API server by itself.
    ...(values.proxy === undefined ? {} : { HTTPS_PROXY: values.proxy.httpsProxy }),
    FAIRLEAD_HEALTH_LISTEN: HEALTH_LISTEN,
  };
}
