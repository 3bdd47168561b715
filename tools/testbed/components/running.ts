import { setTimeout as sleep } from 'node:timers/promises';
import { TestbedError } from '../errors.js';
import { launch, type Child, type LaunchOptions } from '../process/launch.js';
import { claimDataDir, recordChildren, releaseDataDir } from '../process/ownership.js';
import type { Running } from './contract.js';

export type Launch = (options: LaunchOptions) => Promise<Child>;

export interface ServerSpec<T> {
  readonly dataDir: string;
  /** The mode of a data directory that has to be made. */
  readonly dataDirMode?: number;
  readonly info: T;
  /** Starts every process with `launch` and resolves when the component is ready; what it started is ended when it throws. */
  start(launch: Launch): Promise<void>;
}

const STOP_GRACE_MS = 10_000;

/** Starts the processes of a component and hands them out as one. */
export async function runServer<T>(spec: ServerSpec<T>): Promise<Running<T>> {
  await claimDataDir(spec.dataDir, spec.dataDirMode);
  let children = await startAll(spec);
  const stop = async () => {
    await endAll(children);
    await releaseDataDir(spec.dataDir);
  };
  return {
    info: spec.info,
    get pid() {
      return children.at(-1)!.pid;
    },
    get exited() {
      return Promise.race(children.map((child) => child.exited));
    },
    stop,
    kill(signal) {
      for (const child of children) if (child.exit === undefined) process.kill(child.pid, signal);
    },
    async restart() {
      await endAll(children);
      children = await startAll(spec);
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Something that runs elsewhere: its address came from the environment, so it is not ours to stop or kill. */
export function pointTo<T>(info: T, what: string): Running<T> {
  const refuse = (verb: string) => new TestbedError(`cannot ${verb} ${what}: the testbed did not start it`);
  return {
    info,
    exited: new Promise(() => {}),
    stop: async () => {},
    kill() {
      throw refuse('kill');
    },
    restart: () => Promise.reject(refuse('restart')),
    [Symbol.asyncDispose]: async () => {},
  };
}

export interface ReadyOptions {
  readonly child: Child;
  /** Resolves when ready; throws while it is not. */
  readonly probe: () => Promise<void>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Waits until a started server answers; throws TestbedError with its last lines when it ends first or takes too long. */
export async function untilReady({ child, probe, timeoutMs, signal }: ReadyOptions): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await probe();
    } catch (cause) {
      if (child.exit !== undefined) {
        const how = child.exit.signal ?? `code ${child.exit.code}`;
        throw new TestbedError(`${child.name} ended (${how}) before it was ready:\n${await child.tail()}`, { cause });
      }
      if (Date.now() >= deadline) {
        const waited = `${timeoutMs / 1000} s`;
        throw new TestbedError(`${child.name} was not ready after ${waited}:\n${await child.tail()}`, { cause });
      }
    }
    await sleep(40, undefined, signal ? { signal } : {});
  }
}

async function startAll<T>(spec: ServerSpec<T>): Promise<Child[]> {
  let children: Child[] = [];
  try {
    await spec.start(async (options) => {
      const child = await launch(options);
      // A start may try twice: an attempt that ended is no longer a part of the component.
      children = [...children.filter((other) => other.exit === undefined), child];
      await recordChildren(spec.dataDir, children);
      return child;
    });
    return children;
  } catch (error) {
    await endAll(children);
    throw error;
  }
}

/** Last started, first stopped. */
async function endAll(children: readonly Child[]): Promise<void> {
  for (const child of children.toReversed()) await endChild(child);
}

async function endChild(child: Child): Promise<void> {
  if (child.exit !== undefined) return;
  process.kill(child.pid, child.stopSignal);
  // A frozen process (SIGSTOP in a fault test) has to be woken to see the signal.
  process.kill(child.pid, 'SIGCONT');
  const grace = setTimeout(() => process.kill(child.pid, 'SIGKILL'), STOP_GRACE_MS);
  await child.exited;
  clearTimeout(grace);
}
