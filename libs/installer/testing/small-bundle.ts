/** A manifest with one of each kind that Flux's has, for tests that run no controllers. `image` tells two versions apart. */
export function smallBundle(image = 'ghcr.io/fluxcd', extra = ''): string {
  return [
    `apiVersion: v1\nkind: Namespace\nmetadata: { name: flux-system }\n`,
    definition('source.toolkit.fluxcd.io', 'GitRepository', 'gitrepositories'),
    definition('kustomize.toolkit.fluxcd.io', 'Kustomization', 'kustomizations'),
    RIGHTS,
    deployment('source-controller', `${image}/source-controller:v1.3.0`),
    deployment('kustomize-controller', `${image}/kustomize-controller:v1.9.5`),
    ...(extra === '' ? [] : [extra]),
  ].join('---\n');
}

const RIGHTS = `apiVersion: v1
kind: ServiceAccount
metadata: { name: source-controller, namespace: flux-system }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: kustomize-controller, namespace: flux-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: crd-controller-flux-system }
rules:
  - { apiGroups: [source.toolkit.fluxcd.io, kustomize.toolkit.fluxcd.io], resources: ['*'], verbs: ['*'] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: crd-controller-flux-system }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: crd-controller-flux-system }
subjects:
  - { kind: ServiceAccount, name: source-controller, namespace: flux-system }
  - { kind: ServiceAccount, name: kustomize-controller, namespace: flux-system }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: allow-egress, namespace: flux-system }
spec: { podSelector: {}, egress: [{}], ingress: [{ from: [{ podSelector: {} }] }], policyTypes: [Ingress, Egress] }
---
apiVersion: v1
kind: Service
metadata: { name: source-controller, namespace: flux-system }
spec: { selector: { app: source-controller }, ports: [{ name: http, port: 80, protocol: TCP, targetPort: http }] }
`;

function definition(group: string, kind: string, plural: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  names: { kind: ${kind}, listKind: ${kind}List, plural: ${plural}, singular: ${kind.toLowerCase()} }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, x-kubernetes-preserve-unknown-fields: true }
            status: { type: object, x-kubernetes-preserve-unknown-fields: true }
`;
}

function deployment(name: string, image: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: flux-system, labels: { control-plane: controller } }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      serviceAccountName: ${name}
      containers:
        - name: manager
          image: ${image}
          args: [--log-level=info]
          ports: [{ containerPort: 9090, name: http, protocol: TCP }]
`;
}
