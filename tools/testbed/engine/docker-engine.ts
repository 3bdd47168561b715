import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Running } from '../components/contract.js';
import { runServer, untilReady, type Launch } from '../components/running.js';
import { TestbedError } from '../errors.js';
import { logToStderr, type Log } from '../log.js';
import type { NetworkNamespace } from '../network/network-namespace.js';
import { writeImages, type ImageSpec } from '../node/image-archive.js';
import { startMachine, type Machine } from '../node/machine.js';
import { becomeTheOneNode } from '../node/one-node.js';
import { requireEnginePrograms } from '../node/requirements.js';
import type { Child } from '../process/launch.js';

export interface DockerEngineOptions {
  /** Holds everything, images and containers too; made when absent. Not on an overlay file system. */
  readonly dataDir: string;
  /** What it has: it reaches no registry. */
  readonly images: readonly ImageSpec[];
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A Docker engine of a test's own. Dispose of it when done; it takes every container along. */
export interface DockerEngine extends AsyncDisposable {
  /** For DOCKER_HOST. */
  readonly host: string;
  /** Where it runs, and publishes ports; nothing in it reaches outside. */
  readonly network: NetworkNamespace;
  /** What `docker` printed; throws unless it succeeded. */
  docker(...args: string[]): Promise<string>;
  /** Kills a container's first process, as a crash would: the engine does not know that it was asked for. */
  kill(container: string): Promise<void>;
}

const READY_MS = 60_000;
const COMMAND_MS = 300_000;
/**
 * Containers are children of daemons, not of ours: in a process namespace that ends with the engine, the kernel ends them all, also when whoever
 * started this is killed.
 */
const OWN_PROCESSES = ['--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=slave'];

/**
 * Starts dockerd, Debian's, in a network, mounts and cgroups of its own. Resolves when it has its images, and before that waits until no other engine or
 * real node is on this machine. Needs Linux, root and Debian's packages; throws TestbedError that says which.
 */
export async function startDockerEngine(options: DockerEngineOptions): Promise<DockerEngine> {
  const { images, log = logToStderr, signal } = options;
  await requireEnginePrograms(log);
  const dataDir = resolve(options.dataDir);
  await using starting = new AsyncDisposableStack();
  starting.use(await becomeTheOneNode({ log, signal }));
  const machine = starting.use(await startMachine(`fairlead-${randomBytes(4).toString('hex')}`));
  const host = `unix://${join(dataDir, 'docker.sock')}`;
  const docker = async (...args: string[]): Promise<string> => {
    const how = { timeout: COMMAND_MS, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)('docker', ['--host', host, ...args], how)).stdout;
  };
  const engine = starting.use(
    await runServer({
      dataDir,
      dataDirMode: 0o711,
      info: { host },
      async start(launch) {
        const child = await startEngine(launch, { dir: dataDir, host, machine });
        const probe = (): Promise<void> => docker('version').then(() => undefined);
        await untilReady({ child, probe, timeoutMs: READY_MS, signal });
      },
    }),
  );
  const archive = join(dataDir, 'image.tar');
  await writeImages(archive, images);
  await docker('load', '--quiet', '--input', archive);
  await rm(archive);
  const all = starting.move();
  return {
    host,
    network: machine.network,
    docker,
    async kill(container) {
      const pid = (await docker('inspect', '--format', '{{.State.Pid}}', container)).trim();
      await insideOf(engine, ['kill', '-KILL', pid]);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

interface EngineHome {
  readonly dir: string;
  readonly host: string;
  readonly machine: Machine;
}

async function startEngine(launch: Launch, { dir, host, machine }: EngineHome): Promise<Child> {
  // What this machine's own engine is told is not for this one.
  const config = join(dir, 'daemon.json');
  await writeFile(config, '{}');
  const args = [
    `--config-file=${config}`,
    `--data-root=${join(dir, 'data')}`,
    `--exec-root=${join(dir, 'exec')}`,
    `--pidfile=${join(dir, 'pid')}`,
    `--host=${host}`,
    `--cgroup-parent=${machine.cgroup}`,
  ];
  return launch({
    name: 'dockerd',
    path: 'unshare',
    args: [...OWN_PROCESSES, 'dockerd', ...args],
    enter: machine.network.enter,
    logPath: join(dir, 'dockerd.log'),
    cwd: dir,
    stopSignal: 'SIGKILL',
  });
}

/** Runs a command where the engine's processes are. */
async function insideOf({ pid }: Running<unknown>, command: readonly string[]): Promise<void> {
  const [first = ''] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  if (first === '') throw new TestbedError('the Docker engine has ended');
  await promisify(execFile)('nsenter', ['--target', first, '--pid', '--mount', '--', ...command], { timeout: 30_000 });
}
