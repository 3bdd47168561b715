import { join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { TestbedError } from '../errors.js';
import { onFreePorts } from './auto-port.js';
import type { ControllerManagerInfo, ControllerManagerOptions, Running } from './contract.js';
import { expectOk } from './expect-ok.js';
import { controllerManagerArgs } from './kubernetes-args.js';
import { runServer, untilReady } from './running.js';

const READY_TIMEOUT_MS = 120_000;

/**
 * Starts the kube-controller-manager of a cluster that the testbed runs as processes: Deployments have pods, namespaces have
 * service accounts and can be deleted, and what has no owner any more is collected. No endpoints, and no node is ever lost.
 */
export async function startControllerManager(
  options: ControllerManagerOptions,
): Promise<Running<ControllerManagerInfo>> {
  const { adminKubeconfigPath, caPem, pkiDir } = options.kube;
  if (pkiDir === undefined)
    throw new TestbedError('a controller manager can only serve a cluster that the testbed runs as processes');
  const { path } = await findBinary('kube-controller-manager', options);
  const dataDir = resolve(options.dataDir);
  return onFreePorts([options.port], ([port]) =>
    runServer<ControllerManagerInfo>({
      dataDir,
      info: { port: port! },
      async start(launch) {
        const name = 'kube-controller-manager';
        const args = controllerManagerArgs(port!, adminKubeconfigPath, (file) => join(pkiDir, file));
        const logPath = join(dataDir, `${name}.log`);
        const child = await launch({ name, path, args, logPath, cwd: dataDir, stopSignal: 'SIGTERM' });
        const probe = () => expectOk(`https://127.0.0.1:${port}/healthz`, { ca: caPem });
        await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal: options.signal });
      },
    }),
  );
}
