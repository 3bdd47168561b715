import { join } from 'node:path';
import { findBinary, type FindOptions } from '../binaries/find-binary.js';
import type { KubeInfo, Running } from '../components/contract.js';
import { runServer } from '../components/running.js';
import type { NetworkNamespace } from '../network/network-namespace.js';
import { CLUSTER_RANGE } from './configuration.js';

export interface NodeControllersOptions extends FindOptions {
  readonly dataDir: string;
  readonly kube: KubeInfo;
  readonly pkiDir: string;
  readonly network: NetworkNamespace;
}

/** All controllers and the scheduler of a cluster with a real node. They are ready when the node is. */
export async function startNodeControllers(options: NodeControllersOptions): Promise<Running<object>> {
  const { dataDir, kube, pkiDir, network } = options;
  const as = [`--kubeconfig=${kube.adminKubeconfigPath}`, '--leader-elect=false', '--profiling=false'];
  const asked = ['--bind-address=127.0.0.1', `--authentication-kubeconfig=${kube.adminKubeconfigPath}`];
  const common = [...as, ...asked, `--authorization-kubeconfig=${kube.adminKubeconfigPath}`];
  const pki = (file: string): string => join(pkiDir, file);
  const programs = [
    {
      name: 'kube-controller-manager',
      args: [
        `--service-account-private-key-file=${pki('service-account.key')}`,
        `--root-ca-file=${pki('ca.crt')}`,
        `--cluster-signing-cert-file=${pki('ca.crt')}`,
        `--cluster-signing-key-file=${pki('ca.key')}`,
        `--cluster-cidr=${CLUSTER_RANGE}`,
        '--allocate-node-cidrs',
      ],
    },
    { name: 'kube-scheduler', args: [] },
  ] as const;
  const paths = new Map<string, string>();
  for (const { name } of programs) paths.set(name, (await findBinary(name, options)).path);
  return runServer<object>({
    dataDir,
    info: {},
    async start(launch) {
      for (const { name, args } of programs) {
        const logPath = join(dataDir, `${name}.log`);
        const run = { name, path: paths.get(name)!, args: [...common, ...args], enter: network.enter };
        await launch({ ...run, logPath, cwd: dataDir, stopSignal: 'SIGTERM' });
      }
    },
  });
}
