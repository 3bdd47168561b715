import { existsSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import type { GenericContainer, StartedTestContainer } from 'testcontainers';
import type { Running } from '../components/contract.js';
import { messageOf } from '../errors.js';
import type { Log } from '../log.js';
import type { Exit } from '../process/launch.js';

// testcontainers takes most of a second to load: only who uses Docker waits for it.
const load = () => import('testcontainers');

let verdict: Promise<string | undefined> | undefined;

/** Why Docker cannot be used here, or undefined when it can. Asked once per process. */
export function whyNoDocker(): Promise<string | undefined> {
  verdict ??= mayHaveDocker() ? askRuntime() : Promise.resolve('neither DOCKER_HOST nor a Docker socket');
  return verdict;
}

/** The places testcontainers looks at, so that a machine without Docker need not load it to find out. */
function mayHaveDocker(): boolean {
  const { DOCKER_HOST, XDG_RUNTIME_DIR } = process.env;
  if (DOCKER_HOST || process.platform === 'win32') return true;
  const home = homedir();
  const runtimeDir = XDG_RUNTIME_DIR ?? `/run/user/${process.getuid?.() ?? 0}`;
  const sockets = ['/var/run', runtimeDir, join(home, '.docker/run'), join(home, '.docker/desktop')];
  return [join(home, '.testcontainers.properties'), ...sockets.map((dir) => join(dir, 'docker.sock'))].some(existsSync);
}

async function askRuntime(): Promise<string | undefined> {
  try {
    const { getContainerRuntimeClient } = await load();
    await getContainerRuntimeClient();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export interface ContainerSpec<T> {
  /** For messages: `NATS`. */
  readonly what: string;
  readonly image: string;
  /** Published on 127.0.0.1 only, at the same port after a restart. */
  readonly ports: readonly { readonly container: number; readonly host: number }[];
  readonly log: Log;
  configure(container: GenericContainer, testcontainers: typeof import('testcontainers')): GenericContainer;
  connect(container: StartedTestContainer): Promise<T>;
}

/** Runs a component in a container; testcontainers' reaper removes it should this process die. */
export async function runContainer<T>(spec: ContainerSpec<T>): Promise<Running<T>> {
  const testcontainers = await load();
  const client = await testcontainers.getContainerRuntimeClient();
  spec.log(`${spec.what}: container of ${spec.image} (docker: a container runtime answers)`);
  const container = await spec.configure(await loopbackContainer(spec), testcontainers).start();
  const handle = client.container.getById(container.getId());
  const waitForEnd = async () => {
    // A container that is gone before it could be waited for has ended too.
    const { StatusCode: code } = (await handle.wait().catch(() => ({ StatusCode: 0 }))) as { StatusCode: number };
    return exitOf(code);
  };
  let stopping: Promise<unknown> | undefined;
  const stop = async () => {
    stopping ??= container.stop();
    await stopping;
  };
  let exited = waitForEnd();
  try {
    const info = await spec.connect(container);
    return {
      info,
      stop,
      kill(signal) {
        handle.kill({ signal }).catch((error: unknown) => spec.log(`${spec.what}: ${signal}: ${messageOf(error)}`));
      },
      async restart() {
        await container.restart({ timeout: 10_000 });
        exited = waitForEnd();
      },
      get exited() {
        return exited;
      },
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Docker says 128 + n for a process that signal n ended. */
function exitOf(code: number): Exit {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return signal === undefined ? { code, signal: null } : { code: null, signal };
}

/** A container whose ports are published on 127.0.0.1 only; testcontainers would publish them on every address. */
async function loopbackContainer({ image, ports }: ContainerSpec<unknown>): Promise<GenericContainer> {
  const { GenericContainer: Generic } = await load();
  class LoopbackContainer extends Generic {
    // An async method as the base class declares it, though nothing here waits.
    protected override async beforeContainerCreated(): Promise<void> {
      this.hostConfig.PortBindings = Object.fromEntries(
        ports.map(({ container, host }) => [`${container}/tcp`, [{ HostIp: '127.0.0.1', HostPort: String(host) }]]),
      );
    }
  }
  return new LoopbackContainer(image).withExposedPorts(...ports);
}

/** The user a container should write a bind-mounted directory as, so that it can be removed again; root needs none. */
export function asThisUser(container: GenericContainer): GenericContainer {
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? container : container.withUser(`${uid}:${process.getgid?.() ?? uid}`);
}
