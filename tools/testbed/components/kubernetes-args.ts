import { join } from 'node:path';
import type { KubernetesPki } from './kubernetes-pki.js';

export interface EtcdSettings {
  readonly dataDir: string;
  readonly port: number;
  readonly peerPort: number;
  readonly durable: boolean;
}

/** A single etcd on 127.0.0.1 that only clients with a certificate of the test cluster's CA may use. */
export function etcdArgs({ dataDir, port, peerPort, durable }: EtcdSettings, pki: KubernetesPki): string[] {
  return [
    '--name=testbed',
    `--data-dir=${join(dataDir, 'etcd')}`,
    `--listen-client-urls=https://127.0.0.1:${port}`,
    `--advertise-client-urls=https://127.0.0.1:${port}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
    `--initial-cluster=testbed=http://127.0.0.1:${peerPort}`,
    `--cert-file=${pki.path('etcd.crt')}`,
    `--key-file=${pki.path('etcd.key')}`,
    `--trusted-ca-file=${pki.path('ca.crt')}`,
    '--client-cert-auth',
    '--log-level=warn',
    ...(durable ? [] : ['--unsafe-no-fsync']),
  ];
}

export interface ApiserverSettings {
  readonly port: number;
  readonly etcdPort: number;
  readonly egressSelectorConfigPath: string | undefined;
  readonly kubeletAddressTypes: readonly string[];
  /** False: pods have no service accounts, which nobody would make. */
  readonly serviceAccounts: boolean;
  readonly serviceRange: string;
  /** Where the pods of a real node reach it; undefined: there is none. */
  readonly nodeAddress: string | undefined;
}

/** An API server on 127.0.0.1 alone, or in the network of a real node on all of it: RBAC, no cloud. */
export function apiserverArgs(settings: ApiserverSettings, pki: KubernetesPki): string[] {
  const { port, etcdPort, egressSelectorConfigPath, kubeletAddressTypes, serviceAccounts, serviceRange } = settings;
  return [
    `--secure-port=${port}`,
    ...(settings.nodeAddress === undefined ? LOOPBACK_ALONE : forNode(settings.nodeAddress)),
    `--etcd-servers=https://127.0.0.1:${etcdPort}`,
    `--etcd-cafile=${pki.path('ca.crt')}`,
    `--etcd-certfile=${pki.path('etcd-client.crt')}`,
    `--etcd-keyfile=${pki.path('etcd-client.key')}`,
    `--tls-cert-file=${pki.path('serving.crt')}`,
    `--tls-private-key-file=${pki.path('serving.key')}`,
    `--client-ca-file=${pki.path('ca.crt')}`,
    `--kubelet-certificate-authority=${pki.path('ca.crt')}`,
    `--kubelet-client-certificate=${pki.path('kubelet-client.crt')}`,
    `--kubelet-client-key=${pki.path('kubelet-client.key')}`,
    `--kubelet-preferred-address-types=${kubeletAddressTypes.join(',')}`,
    ...(egressSelectorConfigPath === undefined ? [] : [`--egress-selector-config-file=${egressSelectorConfigPath}`]),
    `--service-account-key-file=${pki.path('service-account.crt')}`,
    `--service-account-signing-key-file=${pki.path('service-account.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-cluster-ip-range=${serviceRange}`,
    ...(serviceAccounts ? [] : ['--disable-admission-plugins=ServiceAccount']),
    '--profiling=false',
    // Nobody waits for watches to drain when a test ends.
    '--shutdown-delay-duration=0s',
  ];
}

const LOOPBACK_ALONE = [
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  '--authorization-mode=RBAC',
  // A loopback address may not be an endpoint.
  '--endpoint-reconciler-type=none',
];

function forNode(address: string): string[] {
  return [
    '--bind-address=0.0.0.0',
    `--advertise-address=${address}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged',
  ];
}

/** Those that a cluster of one node needs: a pod's loopback address may not be an endpoint, and no node is lost. */
const CONTROLLERS = [
  'deployment',
  'replicaset',
  'statefulset',
  'daemonset',
  'job',
  'disruption',
  'garbagecollector',
  'podgc',
  'namespace',
  'serviceaccount',
  'root-ca-cert-publisher',
  'clusterrole-aggregation',
  'resourcequota',
  'ttl-after-finished',
];

/** A controller manager on 127.0.0.1, as the administrator. */
export function controllerManagerArgs(port: number, kubeconfigPath: string, pki: (file: string) => string): string[] {
  return [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--kubeconfig=${kubeconfigPath}`,
    `--authentication-kubeconfig=${kubeconfigPath}`,
    `--authorization-kubeconfig=${kubeconfigPath}`,
    `--tls-cert-file=${pki('serving.crt')}`,
    `--tls-private-key-file=${pki('serving.key')}`,
    `--root-ca-file=${pki('ca.crt')}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    '--leader-elect=false',
    '--profiling=false',
  ];
}
