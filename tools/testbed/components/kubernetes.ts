import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { logToStderr } from '../log.js';
import { onFreePorts } from './auto-port.js';
import { chooseServer } from './choose-server.js';
import type { KubeInfo, KubeOptions, Running } from './contract.js';
import { apiserverArgs, etcdArgs, type ApiserverSettings } from './kubernetes-args.js';
import { externalCluster, kubeconfigFor } from './kubeconfig.js';
import { ensurePki, type KubernetesPki } from './kubernetes-pki.js';
import { expectOk } from './expect-ok.js';
import { pointTo, runServer, untilReady, type Launch } from './running.js';

// A cold start on two busy cores takes some 15 s; an API server that needs longer is usually one that never will.
const READY_TIMEOUT_MS = 120_000;

/** The Service `kubernetes`, by which pods know the API server. */
const FIRST_SERVICE = '10.96.0.1';

/** Go's garbage collector takes a sixth of the time that a start takes; an API server of a test is small, and does not live long. */
const SELDOM_COLLECTING = { GOGC: '400', ...process.env };

/**
 * Starts etcd and kube-apiserver on 127.0.0.1 (RBAC, no controllers, no nodes: see `startCluster`), or points to the cluster of
 * FAIRLEAD_TESTBED_KUBECONFIG; never to the user's own KUBECONFIG. Throws TestbedError naming what to install.
 */
export async function startKubernetes(options: KubeOptions): Promise<Running<KubeInfo>> {
  const log = options.log ?? logToStderr;
  const variable = 'FAIRLEAD_TESTBED_KUBECONFIG';
  if (options.asProcesses !== true) {
    const chosen = await chooseServer({ what: 'Kubernetes', variable, dockerByDefault: true });
    if (chosen.kind === 'env') {
      const info = await externalCluster(chosen.address);
      log(`kubernetes: ${new URL(info.url).host} (env: ${variable} names it)`);
      return pointTo(info, `the cluster of ${variable}`);
    }
    if (chosen.kind === 'docker') return (await import('../docker/kubernetes.js')).startK3sContainer(options);
  }
  const etcd = await findBinary('etcd', options);
  const apiserver = await findBinary('kube-apiserver', options);
  const programs = { etcd: etcd.path, apiserver: apiserver.path, version: `v${apiserver.version}` };
  return onFreePorts([options.apiPort, options.etcdPort, 0], (ports) => startProcesses(options, programs, ports));
}

interface Programs {
  readonly etcd: string;
  readonly apiserver: string;
  readonly version: string;
}

async function startProcesses(options: KubeOptions, programs: Programs, ports: number[]): Promise<Running<KubeInfo>> {
  const dataDir = resolve(options.dataDir);
  const [apiPort, etcdPort, etcdPeerPort] = ports as [number, number, number];
  const { network, address } = options.inside ?? {};
  const pki = await ensurePki(dataDir, address === undefined ? [] : [address, FIRST_SERVICE]);
  // Outside it is the bridges that listen, from the first start on.
  for (const port of [apiPort, etcdPort]) await network?.carryOut(port);
  const url = `https://127.0.0.1:${apiPort}`;
  const adminKubeconfigPath = join(dataDir, 'admin.kubeconfig');
  await writeFile(adminKubeconfigPath, await kubeconfigFor(url, pki), { mode: 0o600 });
  const etcdArguments = etcdArgs(
    { dataDir, port: etcdPort, peerPort: etcdPeerPort, durable: options.durable ?? false },
    pki,
  );
  const serve = { dataDir, pki, enter: network?.enter, signal: options.signal };
  return runServer<KubeInfo>({
    dataDir,
    info: { url, caPem: pki.caPem, adminKubeconfigPath, version: programs.version, pkiDir: pki.dir },
    async start(launch) {
      const etcdUrl = `https://127.0.0.1:${etcdPort}/readyz`;
      await serveUntilReady(launch, {
        ...serve,
        name: 'etcd',
        path: programs.etcd,
        args: etcdArguments,
        readyUrl: etcdUrl,
      });
      const args = apiserverArgs(apiserverSettings(options, apiPort, etcdPort), pki);
      const readyUrl = `${url}/readyz`;
      await serveUntilReady(launch, { ...serve, name: 'kube-apiserver', path: programs.apiserver, args, readyUrl });
    },
  });
}

function apiserverSettings(options: KubeOptions, port: number, etcdPort: number): ApiserverSettings {
  const { egressSelectorConfigPath, kubeletAddressTypes = ['InternalIP'] } = options;
  const { serviceAccounts = false, serviceRange = '10.96.0.0/16', inside } = options;
  const services = { serviceAccounts, serviceRange };
  return { port, etcdPort, egressSelectorConfigPath, kubeletAddressTypes, ...services, nodeAddress: inside?.address };
}

interface Server {
  readonly name: 'etcd' | 'kube-apiserver';
  readonly path: string;
  readonly args: readonly string[];
  readonly dataDir: string;
  readonly pki: KubernetesPki;
  readonly readyUrl: string;
  readonly enter: readonly string[] | undefined;
  readonly signal: AbortSignal | undefined;
}

async function serveUntilReady(launch: Launch, server: Server): Promise<void> {
  const { name, path, args, dataDir, pki, enter, signal } = server;
  const logPath = join(dataDir, `${name}.log`);
  const child = await launch({
    name,
    enter,
    path,
    args,
    logPath,
    cwd: dataDir,
    env: SELDOM_COLLECTING,
    stopSignal: 'SIGTERM',
  });
  const client = name === 'etcd' ? 'etcd-client' : 'admin';
  const [cert, key] = await Promise.all([readFile(pki.path(`${client}.crt`)), readFile(pki.path(`${client}.key`))]);
  const probe = () => expectOk(server.readyUrl, { ca: pki.caPem, cert, key });
  await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal });
}
