import { CLUSTER_DOMAIN, DNS_ADDRESS } from './configuration.js';
import { qualified } from './image-archive.js';
import { COREDNS_IMAGE } from './images.js';

const NAMESPACE = 'kube-system';
const NAME = 'coredns';
const LABELS = { 'k8s-app': 'kube-dns' };
const metadata = { name: NAME, namespace: NAMESPACE };

/** There is no `forward`: nothing outside is there to be asked. */
const COREFILE = `.:53 {
  errors
  health
  ready
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {
    pods insecure
  }
  cache 30
  loadbalance
}
`;

/** The names of the cluster's Services, as `kubectl apply -f -` takes it. */
export function dnsManifest(): string {
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    ...access(),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: COREFILE } },
    deployment(),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: NAMESPACE, labels: LABELS },
      spec: {
        clusterIP: DNS_ADDRESS,
        selector: LABELS,
        ports: ['UDP', 'TCP'].map((protocol) => ({ name: `dns-${protocol.toLowerCase()}`, port: 53, protocol })),
      },
    },
  ];
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

function access(): object[] {
  const name = 'system:coredns';
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const verbs = ['list', 'watch'];
  const rules = [
    { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
  ];
  return [
    { apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }],
    },
  ];
}

function deployment(): object {
  const container = {
    name: NAME,
    image: qualified(COREDNS_IMAGE),
    imagePullPolicy: 'Never',
    args: ['-conf', '/etc/coredns/Corefile'],
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns', readOnly: true }],
    ports: [{ containerPort: 53, protocol: 'UDP' }],
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    // Asked often, for the node is ready when this is.
    readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
  };
  const spec = {
    serviceAccountName: NAME,
    // Else it would ask itself.
    dnsPolicy: 'Default',
    containers: [container],
    volumes: [{ name: 'config', configMap: { name: NAME } }],
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { replicas: 1, selector: { matchLabels: LABELS }, template: { metadata: { labels: LABELS }, spec } },
  };
}
