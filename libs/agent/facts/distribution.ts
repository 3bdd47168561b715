/** What of a node tells whose it is. */
export interface NodeSample {
  readonly labels: Readonly<Record<string, string>>;
  /** `spec.providerID`; empty if there is none. */
  readonly providerId: string;
  /** `status.nodeInfo.osImage`. */
  readonly osImage: string;
}

type Rule = readonly [name: string, mark: RegExp];

/** In the version that the API server gives itself. */
const BY_VERSION: readonly Rule[] = [
  ['k3s', /\+k3s\d/],
  ['rke2', /\+rke2r\d/],
  ['eks', /-eks-/],
  ['gke', /-gke\./],
  ['k0s', /\+k0s/],
  ['iks', /\+IKS/],
  ['tanzu', /\+vmware\./],
  ['ack', /-aliyun\./],
  ['tke', /-tke\./],
  ['mke', /-mirantis-/],
];

/** Keys of labels that a distribution puts on its nodes. */
const BY_LABEL: readonly Rule[] = [
  ['openshift', /^node\.openshift\.io\//],
  ['eks', /^eks\.amazonaws\.com\//],
  ['gke', /^cloud\.google\.com\/gke-/],
  ['aks', /^kubernetes\.azure\.com\/(cluster|agentpool|nodepool-type)$/],
  ['doks', /^doks\.digitalocean\.com\//],
  ['lke', /^lke\.linode\.com\//],
  ['kapsule', /^k8s\.scaleway\.com\//],
  ['microk8s', /^microk8s\.io\//],
  ['minikube', /^minikube\.k8s\.io\//],
  ['kops', /^kops\.k8s\.io\//],
];

const BY_PROVIDER_ID: readonly Rule[] = [
  ['kind', /^kind:\/\//],
  ['k3s', /^k3s:\/\//],
  ['rke2', /^rke2:\/\//],
];

const BY_OS_IMAGE: readonly Rule[] = [
  ['talos', /^Talos\b/],
  ['docker-desktop', /^Docker Desktop\b/],
  ['openshift', /^Red Hat (Enterprise Linux )?CoreOS\b/],
  ['eks', /^Bottlerocket OS .*\baws-k8s-/],
];

/** Schemes of provider ids that have a better known name. */
const PROVIDERS: Readonly<Record<string, string>> = {
  gce: 'gcp',
  hcloud: 'hetzner',
  qcloud: 'tencent',
  oci: 'oracle',
};
/** Schemes that tell the distribution, and nothing of whose machines these are. */
const NOBODYS = new Set(['kind', 'k3s', 'rke2', 'kwok']);

/** Whose Kubernetes this is: `eks`, `gke`, `aks`, `openshift`, `k3s`, …; empty if nothing tells it, as with plain kubeadm. */
export function distributionOf(version: string, nodes: readonly NodeSample[]): string {
  const labels = nodes.flatMap((node) => Object.keys(node.labels));
  return (
    firstMark(BY_VERSION, [version]) ??
    firstMark(BY_LABEL, labels) ??
    firstMark(
      BY_PROVIDER_ID,
      nodes.map(({ providerId }) => providerId),
    ) ??
    firstMark(
      BY_OS_IMAGE,
      nodes.map(({ osImage }) => osImage),
    ) ??
    ''
  );
}

/** Whose machines the nodes are, by the scheme of their provider id: `aws`, `gcp`, `azure`, `vsphere`, …; empty if nothing tells it. */
export function providerOf(nodes: readonly NodeSample[]): string {
  for (const { providerId } of nodes) {
    const scheme = /^([a-z][a-z0-9-]{0,31}):\/\//.exec(providerId)?.[1];
    if (scheme !== undefined && !NOBODYS.has(scheme)) return PROVIDERS[scheme] ?? scheme;
  }
  return '';
}

function firstMark(rules: readonly Rule[], texts: readonly string[]): string | undefined {
  return rules.find(([, mark]) => texts.some((text) => mark.test(text)))?.[0];
}
