import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { TestbedError } from '../errors.js';
import { onFreePorts } from './auto-port.js';
import type { KubeletInfo, KubeletOptions, Running } from './contract.js';
import { expectOk } from './expect-ok.js';
import { issueServing } from './kubernetes-pki.js';
import { runServer, untilReady, type Launch } from './running.js';

const READY_TIMEOUT_MS = 60_000;

/**
 * Joins a node to a cluster that the testbed runs as processes. Its kubelet (`go/kubelet`) runs each container of the pods
 * bound to the node as a process that `images` names, and serves exec, attach, logs and port-forward.
 * Resolves when it serves and knows its pods. Stopped, it takes its processes along; the node and its pods stay in the API,
 * and run again after `restart`.
 */
export async function startKubelet(options: KubeletOptions): Promise<Running<KubeletInfo>> {
  const { pkiDir } = options.kube;
  if (pkiDir === undefined)
    throw new TestbedError('a kubelet can only join a cluster that the testbed runs as processes');
  const { path } = await findBinary('test-kubelet', options);
  const { network, kube } = options;
  if (network === undefined) return onFreePorts([options.port], ([port]) => startProcess(options, path, pkiDir, port!));
  await network.carryIn(Number(new URL(kube.url).port));
  // Outside it is the bridge that listens: what is free inside does not count.
  const port = await onFreePorts([options.port], async ([port]) => {
    await network.carryOut(port!);
    return port!;
  });
  return startProcess(options, path, pkiDir, port);
}

function startProcess(
  options: KubeletOptions,
  path: string,
  pkiDir: string,
  port: number,
): Promise<Running<KubeletInfo>> {
  const { nodeName, address = '127.0.0.1' } = options;
  const dataDir = resolve(options.dataDir);
  return runServer<KubeletInfo>({
    dataDir,
    info: { nodeName, address, port },
    async start(launch) {
      await mkdir(dataDir, { recursive: true, mode: 0o700 });
      await issueServing(pkiDir, { dir: dataDir, file: 'serving', name: nodeName, ip: address });
      await writeFile(join(dataDir, 'images.json'), JSON.stringify(options.images), { mode: 0o600 });
      await launchUntilReady(launch, path, { ...options, dataDir, address, port, pkiDir });
    },
  });
}

interface Prepared extends KubeletOptions {
  readonly address: string;
  readonly port: number;
  readonly pkiDir: string;
}

async function launchUntilReady(launch: Launch, path: string, prepared: Prepared): Promise<void> {
  const {
    dataDir,
    kube,
    nodeName,
    address,
    port,
    pkiDir,
    signal,
    bindsPods = false,
    servesServices = false,
    network,
  } = prepared;
  const args = [
    `--kubeconfig=${kube.adminKubeconfigPath}`,
    `--hostname-override=${nodeName}`,
    `--address=${address}`,
    `--port=${port}`,
    `--tls-cert-file=${join(dataDir, 'serving.crt')}`,
    `--tls-private-key-file=${join(dataDir, 'serving.key')}`,
    `--client-ca-file=${join(pkiDir, 'ca.crt')}`,
    `--images=${join(dataDir, 'images.json')}`,
    `--root-dir=${dataDir}`,
    `--bind-pods=${bindsPods}`,
    `--serve-services=${servesServices}`,
  ];
  const logPath = join(dataDir, 'kubelet.log');
  const run = { name: 'test-kubelet', enter: network?.enter, path, args } as const;
  const child = await launch({ ...run, logPath, cwd: dataDir, stopSignal: 'SIGTERM' });
  const [cert, key] = await Promise.all(
    ['kubelet-client.crt', 'kubelet-client.key'].map((file) => readFile(join(pkiDir, file))),
  );
  const tls = { ca: kube.caPem, cert: cert!, key: key! };
  const probe = () => expectOk(`https://${address}:${port}/healthz`, tls);
  await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal });
}
