import { join } from 'node:path';
import { CNI_PLUGINS } from './requirements.js';
import { PAUSE_IMAGE } from './images.js';
import { qualified } from './image-archive.js';

// All of this is seen in the node's own network alone; the range is the one that RFC 2544 keeps for tests.
export const NODE_ADDRESS = '198.18.255.2';
export const POD_RANGE = '198.18.0.0/24';
export const CLUSTER_RANGE = '198.18.0.0/17';
export const SERVICE_RANGE = '10.96.0.0/16';
export const DNS_ADDRESS = '10.96.0.10';
export const CLUSTER_DOMAIN = 'cluster.local';

/** Where one node keeps what. */
export interface NodePaths {
  readonly dir: string;
  readonly socket: string;
  readonly cgroup: string;
}

/** containerd with everything in the node's folder, so that it meets no other one. */
export function containerdConfig({ dir, socket }: NodePaths): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${join(dir, 'containerd')}"
state = "${join(dir, 'containerd-state')}"
[grpc]
address = "${socket}"
[plugins."io.containerd.internal.v1.opt"]
path = "${join(dir, 'containerd-opt')}"
[${cri}]
sandbox_image = "${qualified(PAUSE_IMAGE)}"
# Who may not lower its own score may not lower that of a container either.
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[${cri}.containerd]
snapshotter = "overlayfs"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
SystemdCgroup = false
[${cri}.cni]
bin_dir = "${CNI_PLUGINS}"
conf_dir = "${join(dir, 'cni')}"
`;
}

/** The pods' network: a bridge, and addresses that are given out on the node. */
export function cniConfig({ dir }: NodePaths): string {
  const ipam = {
    type: 'host-local',
    dataDir: join(dir, 'cni-addresses'),
    ranges: [[{ subnet: POD_RANGE }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: 'pods0', isGateway: true, ipMasq: true, hairpinMode: true, ipam };
  const portmap = { type: 'portmap', capabilities: { portMappings: true } };
  return JSON.stringify({ cniVersion: '0.4.0', name: 'pods', plugins: [bridge, portmap] });
}

/** `pkiDir` has the cluster's authority; the kubelet's own certificate is in the node's folder. */
export function kubeletConfig({ dir, socket, cgroup }: NodePaths, pkiDir: string): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: NODE_ADDRESS,
    port: 10_250,
    readOnlyPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(pkiDir, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: join(dir, 'kubelet-serving.crt'),
    tlsPrivateKeyFile: join(dir, 'kubelet-serving.key'),
    containerRuntimeEndpoint: `unix://${socket}`,
    podLogsDir: join(dir, 'pod-logs'),
    volumePluginDir: join(dir, 'volume-plugins'),
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: CLUSTER_DOMAIN,
    // Nothing outside answers, so pods are told of nobody there.
    resolvConf: '',
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: [],
    // The machine is as it is: shared, and maybe old.
    failCgroupV1: false,
    failSwapOn: false,
    localStorageCapacityIsolation: false,
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    serializeImagePulls: false,
  });
}
