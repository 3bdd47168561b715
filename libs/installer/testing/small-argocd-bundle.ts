/** A manifest with one of each kind that Argo CD's has, and without namespaces as that is, for tests that run no controllers. */
export function smallArgocdBundle(image = 'quay.io/argoproj/argocd:v3.1.16'): string {
  return [
    definition('Application', 'applications'),
    definition('AppProject', 'appprojects'),
    RIGHTS,
    configMap('argocd-cm', 'resource.exclusions: "[]"'),
    configMap('argocd-gpg-keys-cm'),
    configMap('argocd-ssh-known-hosts-cm', 'ssh_known_hosts: "github.com ssh-ed25519 AAAA"'),
    'apiVersion: v1\nkind: Secret\nmetadata: { name: argocd-secret }\ntype: Opaque\n',
    POLICY,
    workload('Deployment', 'argocd-repo-server', image),
    workload('StatefulSet', 'argocd-application-controller', image),
  ].join('---\n');
}

const RIGHTS = `apiVersion: v1
kind: ServiceAccount
metadata: { name: argocd-application-controller }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: argocd-repo-server }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: argocd-application-controller }
rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: argocd-application-controller }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: argocd-application-controller }
subjects: [{ kind: ServiceAccount, name: argocd-application-controller, namespace: argocd }]
`;

const POLICY = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: argocd-repo-server-network-policy }
spec:
  podSelector: { matchLabels: { app: argocd-repo-server } }
  ingress: [{ from: [{ podSelector: { matchLabels: { app: argocd-application-controller } } }] }]
  policyTypes: [Ingress]
`;

function definition(kind: string, plural: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.argoproj.io }
spec:
  group: argoproj.io
  names: { kind: ${kind}, listKind: ${kind}List, plural: ${plural}, singular: ${kind.toLowerCase()} }
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            operation: { type: object, x-kubernetes-preserve-unknown-fields: true }
            spec: { type: object, x-kubernetes-preserve-unknown-fields: true }
            status: { type: object, x-kubernetes-preserve-unknown-fields: true }
`;
}

function configMap(name: string, data = ''): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n${data === '' ? '' : `data: { ${data} }\n`}`;
}

function workload(kind: 'Deployment' | 'StatefulSet', name: string, image: string): string {
  return `apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name}, labels: { app.kubernetes.io/part-of: argocd } }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${name} } }
  ${kind === 'StatefulSet' ? `serviceName: ${name}` : ''}
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      serviceAccountName: ${name}
      containers:
        - name: ${name}
          image: ${image}
          args: [/usr/local/bin/${name}]
          env:
            - name: ARGOCD_RECONCILIATION_TIMEOUT
              valueFrom: { configMapKeyRef: { key: timeout.reconciliation, name: argocd-cm, optional: true } }
            - { name: OTHER, value: kept }
`;
}
