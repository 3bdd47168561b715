// Vitest's pool: each file gets a process when there is room for it and its components are here.
import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { relative } from 'node:path';
import type { PoolOptions, PoolRunnerInitializer, PoolWorker, WorkerRequest } from 'vitest/node';
import { FileProcesses, type FileProcess } from './file-processes.js';
import { Lanes, isOverloaded, roomOn } from './lanes.js';
import { MachineSpeed } from './machine-speed.js';
import { cpuSecondsOf } from './processes.js';
import { Session } from './session.js';
import { Stress } from './stress.js';
import { readTimings, UNKNOWN } from './timings.js';

/** Vitest hands over all files at once, and this pool decides. */
export const ALL_FILES = 10_000;

/** Nothing tells of load that has fallen, or of a component that came. */
const LOOK_AGAIN_MS = 1_000;

/** Measured once there is a file to let in: whoever runs unit tests alone needs none of it. */
let speed: MachineSpeed | undefined;
const lanes = new Lanes(roomOn(), isOverloaded, () => (speed ??= new MachineSpeed()).slowness());
const looking = setInterval(() => lanes.lookAgain(), LOOK_AGAIN_MS).unref();
const processes = new FileProcesses();
const timings = readTimings();
const session = Session.fromEnvironment();
const stress = Stress.fromEnvironment();
let files = 0;

export const scheduledPool: PoolRunnerInitializer = {
  name: 'scheduled',
  createPoolWorker: (options) => new ScheduledWorker(options),
};

type Run = Extract<WorkerRequest, { type: 'run' | 'collect' }>;

/** As vitest's own worker of forks, but that it has a process only while its file runs. */
class ScheduledWorker implements PoolWorker {
  /** The runner in the process is that of forks. */
  readonly name = 'forks';
  readonly cacheFs = true;
  readonly #options: PoolOptions;
  readonly #events = new EventEmitter();
  readonly #file = ++files;
  #start: WorkerRequest | undefined;
  #process: FileProcess | undefined;
  #leave: (() => void) | undefined;
  #finish: (() => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    processes.expect();
  }

  on(event: string, callback: (...args: unknown[]) => void): void {
    this.#events.on(event, callback);
  }

  off(event: string, callback: (...args: unknown[]) => void): void {
    this.#events.off(event, callback);
  }

  async start(): Promise<void> {}

  send(message: WorkerRequest): void {
    if (message.type === 'start') {
      this.#start = message;
      this.#answer('started');
    } else if (message.type === 'run' || message.type === 'collect') {
      this.#run(message).catch((error: unknown) => this.#events.emit('error', error));
    } else if (message.type === 'stop') {
      this.#answer('stopped');
    } else if (this.#process?.child.connected) {
      this.#process.child.send(message);
    }
  }

  async stop(): Promise<void> {
    const taken = this.#process;
    this.#process = undefined;
    if (taken) this.#deafen(taken.child);
    await processes.giveBack(taken, this.#options.project.name);
    this.#leave?.();
    this.#leave = undefined;
  }

  deserialize(data: unknown): unknown {
    return data;
  }

  async #run(message: Run): Promise<void> {
    const path = relative(process.cwd(), message.context.files[0]!.filepath);
    const timing = timings[path] ?? UNKNOWN;
    // While a file waits for a component, and none runs, nothing else keeps vitest from ending.
    looking.ref();
    this.#leave = await lanes.enter(timing, () => session?.areReady(timing.needs) ?? true);
    if (lanes.queued === 0) looking.unref();
    const env = session?.environmentOf(this.#file) ?? {};
    const taken = await processes.take(path, this.#options, this.#start!, env);
    this.#process = taken;
    this.#finish = observed(taken.child, path, this.#file);
    taken.child.on('message', this.#onMessage).on('error', this.#onError).on('exit', this.#onExit);
    taken.child.send(message);
  }

  readonly #onMessage = (response: unknown) => {
    if (isEnd(response)) this.#finish?.();
    this.#events.emit('message', response);
  };

  readonly #onError = (error: unknown) => this.#events.emit('error', error);

  readonly #onExit = (code: unknown, signal: unknown) => {
    this.#finish?.();
    this.#events.emit('exit', code, signal);
  };

  #deafen(child: ChildProcess): void {
    child.off('message', this.#onMessage).off('error', this.#onError).off('exit', this.#onExit);
  }

  #answer(type: 'started' | 'stopped'): void {
    // Vitest listens after it has sent.
    setImmediate(() => this.#events.emit('message', { __vitest_worker_response__: true, type }));
  }
}

/** Measures a process until the returned function is called, and disturbs it if that was asked for. */
function observed(child: ChildProcess, path: string, file: number): () => void {
  const begun = performance.now();
  // The process may have run other files before.
  const cpuBeforeS = session ? cpuSecondsOf(child.pid!) : 0;
  const calm = stress?.disturb(child.pid!, path);
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    calm?.();
    if (!session) return;
    const wallS = (performance.now() - begun) / 1000;
    session.addMeasure({ path, wallS, cpuS: cpuSecondsOf(child.pid!) - cpuBeforeS, needs: session.componentsOf(file) });
  };
}

function isEnd(response: unknown): boolean {
  return (response as { type?: string }).type === 'testfileFinished';
}
