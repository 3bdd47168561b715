import { createHash } from 'node:crypto';
import type { ManifestValues } from '@fairlead/contracts';
import {
  AGENT,
  EGRESS_SERVICE,
  LABELS,
  SECRETS,
  SELECTOR,
  metadata,
  type ImportManifestInput,
  type KubernetesDocument,
} from './import-manifest-names.js';
import { CONTAINER, DNS_PORTS, POD, imageFields } from './import-manifest-pods.js';
import {
  agentAnnotations,
  agentEnvironment,
  agentMounts,
  agentNetwork,
  agentResources,
  agentVolumes,
  healthOf,
  namespaceOf,
  placement,
  podMetadata,
} from './import-manifest-values.js';

const TOKEN_DIR = '/var/run/secrets/fairlead';
const TOKEN_VOLUME = 'bootstrap-token';
/** One is lost, and the other one serves. */
const PODS = 2;

/** The agent's Deployment and what its pods go by, the policy for its network, and the Service that leads to its way out. */
export function workloadDocuments(input: ImportManifestInput): KubernetesDocument[] {
  const namespace = namespaceOf(input.values);
  return [
    leaderLease(namespace),
    disruptionBudget(namespace),
    networkPolicy(input),
    ...egressService(input),
    deployment(input),
  ];
}

/** By it the pods agree who of them carries desired state. The agent may not create one. */
function leaderLease(namespace: string): KubernetesDocument {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: metadata(AGENT.name, namespace) };
}

/** A drain takes one pod after the other. */
function disruptionBudget(namespace: string): KubernetesDocument {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadata(AGENT.name, namespace),
    spec: { minAvailable: 1, selector: { matchLabels: SELECTOR }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  };
}

/** Preferred: a cluster of one node has both there. */
function apart(): Record<string, unknown> {
  const labelSelector = { matchLabels: SELECTOR };
  const podAffinityTerm = { labelSelector, topologyKey: 'kubernetes.io/hostname' };
  const zones = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' };
  return {
    affinity: {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] },
    },
    topologySpreadConstraints: [{ ...zones, labelSelector }],
  };
}

function deployment(input: ImportManifestInput): KubernetesDocument {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      ...metadata(AGENT.name, namespaceOf(input.values)),
      ...clusterAnnotations(input),
    },
    spec: {
      replicas: PODS,
      strategy: rollout(input.values),
      selector: { matchLabels: SELECTOR },
      template: { metadata: podMetadata(input.values, templateOf(input)), spec: podSpec(input) },
    },
  };
}

/**
 * The new one is linked before an old one goes. In the network of a node both would want the same port of it: on the only
 * node, a new one could never start beside an old one.
 */
function rollout({ hostNetwork }: ManifestValues): Record<string, unknown> {
  if (hostNetwork === true) return { type: 'Recreate' };
  return { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
}

function templateOf(input: ImportManifestInput) {
  return { labels: LABELS, annotations: { ...restartOnNewToken(input), ...agentAnnotations(input.values) } };
}

/** A new token makes new pods: the mounted file alone would change up to two minutes later. The hash tells nothing. */
function restartOnNewToken({ bootstrapToken }: ImportManifestInput): Record<string, string> {
  if (bootstrapToken === null) return {};
  const digest = createHash('sha256').update(bootstrapToken).digest('hex');
  return { 'fairlead.dev/bootstrap-token-sha256': digest.slice(0, 16) };
}

function clusterAnnotations({ cluster }: ImportManifestInput): Record<string, unknown> {
  if (cluster === null) return {};
  return { annotations: { 'fairlead.dev/cluster-name': cluster.name, 'fairlead.dev/cluster-id': cluster.id } };
}

function podSpec(input: ImportManifestInput): Record<string, unknown> {
  return {
    serviceAccountName: AGENT.name,
    ...POD,
    ...placement(input.values),
    ...agentNetwork(input.values),
    ...apart(),
    containers: [container(input)],
    // Optional: once enrolled the agent needs no token, and an administrator may delete it.
    volumes: [
      { name: TOKEN_VOLUME, secret: { secretName: SECRETS.bootstrap, optional: true, defaultMode: 0o440 } },
      ...agentVolumes(input.values),
    ],
  };
}

function container(input: ImportManifestInput): Record<string, unknown> {
  const health = healthOf(input.values);
  const probe = (path: string) => ({ httpGet: { ...health.probe, path, port: 'health' }, timeoutSeconds: 3 });
  return {
    name: 'agent',
    ...imageFields(input.image),
    env: Object.entries(environment(input)).map(([name, value]) => ({ name, value })),
    ports: [
      { name: 'health', containerPort: health.port, protocol: 'TCP' },
      ...egressPorts(input).map((port) => ({ name: `egress-${port}`, containerPort: port, protocol: 'TCP' })),
    ],
    livenessProbe: { ...probe('/healthz'), periodSeconds: 20, failureThreshold: 3 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 5, failureThreshold: 2 },
    ...CONTAINER,
    resources: agentResources(input.values),
    volumeMounts: [{ name: TOKEN_VOLUME, mountPath: TOKEN_DIR, readOnly: true }, ...agentMounts(input.values)],
  };
}

function environment(input: ImportManifestInput): Record<string, string> {
  return {
    FAIRLEAD_ENDPOINTS: input.endpoints.join(','),
    ...(input.serverName === undefined ? {} : { FAIRLEAD_SERVER_NAME: input.serverName }),
    FAIRLEAD_ROOT_PINS: input.pins.join(','),
    FAIRLEAD_TRUST_DOMAIN: input.trustDomain,
    ...(input.cluster ? { FAIRLEAD_CLUSTER_ID: input.cluster.id } : {}),
    FAIRLEAD_LINKS: String(input.links),
    ...(input.targets.length > 0 ? { FAIRLEAD_ALLOW_TARGETS: input.targets.join(',') } : {}),
    ...(input.egress.length > 0 ? { FAIRLEAD_EGRESS: input.egress.join(',') } : {}),
    ...(input.tracingEndpoint === undefined ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: input.tracingEndpoint }),
    FAIRLEAD_BOOTSTRAP_TOKEN_FILE: `${TOKEN_DIR}/token`,
    FAIRLEAD_IDENTITY_BUNDLE_FILE: `${TOKEN_DIR}/identity-bundle.json`,
    ...(input.cluster === null ? { FAIRLEAD_ADOPTION: 'true' } : {}),
    FAIRLEAD_IDENTITY: `secret:${namespaceOf(input.values)}/${SECRETS.identity}`,
    FAIRLEAD_HEALTH_LISTEN: healthOf(input.values).listen,
    ...(input.values.requireStatements === true ? { FAIRLEAD_REQUIRE_STATEMENTS: 'true' } : {}),
    ...(input.values.userNames === 'extra' ? { FAIRLEAD_USER_NAMES: 'extra' } : {}),
    ...agentEnvironment(input.values),
  };
}

const egressPorts = ({ egress }: ImportManifestInput): number[] => egress.map((text) => Number(text.split('=')[0]));

function egressService(input: ImportManifestInput): KubernetesDocument[] {
  if (input.egress.length === 0) return [];
  const ports = egressPorts(input).map((port) => ({
    name: `egress-${port}`,
    port,
    targetPort: `egress-${port}`,
    protocol: 'TCP',
  }));
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata(EGRESS_SERVICE, namespaceOf(input.values)),
      spec: { type: 'ClusterIP', ipFamilyPolicy: 'PreferDualStack', selector: SELECTOR, ports },
    },
  ];
}

/** Only from where a GitOps tool fetches: who else wants out needs a policy of its own. */
function egressIngress(input: ImportManifestInput): Record<string, unknown>[] {
  if (input.egress.length === 0) return [];
  const namespaces = { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['flux-system', 'argocd'] };
  return [
    {
      from: [{ namespaceSelector: { matchExpressions: [namespaces] } }],
      ports: egressPorts(input).map((port) => ({ protocol: 'TCP', port })),
    },
  ];
}

/** In: the probes, and GitOps tools to the way out. Out: names, and TCP to gateways, proxies, the API server and what tunnels are asked for. */
function networkPolicy(input: ImportManifestInput): KubernetesDocument {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadata(AGENT.name, namespaceOf(input.values)),
    spec: {
      podSelector: { matchLabels: SELECTOR },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ protocol: 'TCP', port: 'health' }] }, ...egressIngress(input)],
      egress: [{ ports: DNS_PORTS.map((port) => ({ protocol: 'UDP', port })) }, { ports: [{ protocol: 'TCP' }] }],
    },
  };
}
