import { describe, expect, it } from 'vitest';
import { distributionOf, providerOf, type NodeSample } from './distribution.js';

const node = (change: Partial<NodeSample> = {}): NodeSample => ({
  labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': 'n1' },
  providerId: '',
  osImage: 'Ubuntu 24.04.1 LTS',
  ...change,
});
const labelled = (...keys: string[]): NodeSample => node({ labels: Object.fromEntries(keys.map((key) => [key, 'x'])) });

describe('whose Kubernetes it is', () => {
  it.each([
    ['v1.31.4+k3s1', [], 'k3s'],
    ['v1.30.8+rke2r1', [node({ providerId: 'aws:///eu-west-1a/i-0abc' })], 'rke2'],
    ['v1.31.3-eks-59bf375', [], 'eks'],
    ['v1.30.5-gke.1443001', [], 'gke'],
    ['v1.31.2+k0s', [], 'k0s'],
    ['v1.30.7+IKS', [], 'iks'],
    ['v1.28.8+vmware.1', [], 'tanzu'],
    ['v1.30.1-aliyun.1', [], 'ack'],
    ['v1.30.0-tke.6', [], 'tke'],
    ['v1.27.7-mirantis-1', [], 'mke'],
    ['v1.29.9+5865c5b', [labelled('node.openshift.io/os_id')], 'openshift'],
    ['v1.29.9+5865c5b', [node({ osImage: 'Red Hat Enterprise Linux CoreOS 416.94' })], 'openshift'],
    ['v1.31.1', [labelled('eks.amazonaws.com/nodegroup')], 'eks'],
    ['v1.31.1', [labelled('cloud.google.com/gke-nodepool')], 'gke'],
    ['v1.31.1', [labelled('kubernetes.azure.com/cluster'), node()], 'aks'],
    ['v1.31.1', [node(), labelled('doks.digitalocean.com/node-pool')], 'doks'],
    ['v1.31.1', [labelled('lke.linode.com/pool-id')], 'lke'],
    ['v1.31.1', [labelled('k8s.scaleway.com/pool-name')], 'kapsule'],
    ['v1.31.1', [labelled('microk8s.io/cluster')], 'microk8s'],
    ['v1.31.0', [labelled('minikube.k8s.io/version')], 'minikube'],
    ['v1.31.0', [labelled('kops.k8s.io/instancegroup')], 'kops'],
    ['v1.31.2', [node({ providerId: 'kind://docker/kind/kind-control-plane' })], 'kind'],
    ['v1.31.2', [node({ osImage: 'Talos (v1.8.3)' })], 'talos'],
    ['v1.30.2', [node({ osImage: 'Docker Desktop' })], 'docker-desktop'],
    ['v1.31.1', [node({ osImage: 'Bottlerocket OS 1.26.2 (aws-k8s-1.31)' })], 'eks'],
    // Nothing that tells it: kubeadm, or a version of one's own.
    ['v1.31.1', [node()], ''],
    ['v1.34.4', [], ''],
    ['v1.31.1+mine', [node({ providerId: 'aws:///eu-west-1a/i-0abc' })], ''],
    ['unknown', [], ''],
    // Labels of people, which only look like it.
    ['v1.31.1', [labelled('example.com/eks.amazonaws.com', 'kubernetes.azure.com/mode-of-mine')], ''],
  ] as const)('%s with %j is %s', (version, nodes, expected) => {
    expect(distributionOf(version, nodes)).toBe(expected);
  });
});

describe('whose machines the nodes are', () => {
  it.each([
    ['aws:///eu-west-1a/i-0123456789', 'aws'],
    ['gce://project/europe-west1-b/gke-x', 'gcp'],
    ['azure:///subscriptions/s/resourceGroups/g/providers/p', 'azure'],
    ['openstack:///8f4e', 'openstack'],
    ['vsphere://4203', 'vsphere'],
    ['hcloud://123', 'hetzner'],
    ['digitalocean://123', 'digitalocean'],
    ['qcloud:///800005/ins-1', 'tencent'],
    ['oci://ocid1.instance', 'oracle'],
    ['somebody-new://x', 'somebody-new'],
    ['kind://docker/kind/kind-control-plane', ''],
    ['k3s://node-1', ''],
    ['', ''],
    ['i-0123456789', ''],
    [`${'x'.repeat(40)}://y`, ''],
    ['\u001b[2J://y', ''],
  ])('%s: %s', (providerId, expected) => {
    expect(providerOf([node({ providerId })])).toBe(expected);
  });

  it('is told by the first node that tells it', () => {
    expect(providerOf([node(), node({ providerId: 'k3s://a' }), node({ providerId: 'aws:///z/i' })])).toBe('aws');
    expect(providerOf([])).toBe('');
  });
});
