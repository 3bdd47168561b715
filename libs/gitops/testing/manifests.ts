/** A manifest that passes for Flux's, small. The tag makes it another bundle. */
export function fluxManifest(tag = 'v2.7.3'): string {
  return [
    definition('gitrepositories', 'source.toolkit.fluxcd.io', 'GitRepository'),
    definition('kustomizations', 'kustomize.toolkit.fluxcd.io', 'Kustomization'),
    deployment('source-controller', `ghcr.io/fluxcd/source-controller:${tag}`),
    deployment('kustomize-controller', `ghcr.io/fluxcd/kustomize-controller:${tag}`),
  ].join('\n---\n');
}

/** The same for Argo CD's. */
export function argocdManifest(tag = 'v3.1.16'): string {
  const image = `quay.io/argoproj/argocd:${tag}`;
  return [
    definition('applications', 'argoproj.io', 'Application'),
    definition('appprojects', 'argoproj.io', 'AppProject'),
    deployment('argocd-repo-server', image),
    deployment('argocd-application-controller', image).replace('kind: Deployment', 'kind: StatefulSet'),
  ].join('\n---\n');
}

function definition(plural: string, group: string, kind: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ${plural}.${group}
spec:
  group: ${group}
  names: {kind: ${kind}, plural: ${plural}}
  scope: Namespaced
`;
}

function deployment(name: string, image: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  namespace: flux-system
spec:
  selector:
    matchLabels: {app: ${name}}
  template:
    metadata:
      labels: {app: ${name}}
    spec:
      containers:
        - name: manager
          image: ${image}
`;
}
