// Vitest's pool: each file gets a process of its own, begun when there is room for it and its components are here.
import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join, relative } from 'node:path';
import type { PoolOptions, PoolRunnerInitializer, PoolWorker, WorkerRequest } from 'vitest/node';
import { Lanes, roomOn } from './lanes.js';
import { cpuSecondsOf } from './processes.js';
import { Session } from './session.js';
import { Stress } from './stress.js';
import { readTimings, UNKNOWN, type Timing } from './timings.js';

/** Vitest hands over all files at once, and this pool decides. */
export const ALL_FILES = 10_000;

const LOOK_FOR_COMPONENTS_MS = 500;
/** What a process has to end by itself before it is killed. */
const GRACE_MS = 500;

const lanes = new Lanes(roomOn());
const timings = readTimings();
const session = Session.fromEnvironment();
const stress = Stress.fromEnvironment();
let files = 0;

export const scheduledPool: PoolRunnerInitializer = {
  name: 'scheduled',
  createPoolWorker: (options) => new ScheduledWorker(options),
};

type Run = Extract<WorkerRequest, { type: 'run' | 'collect' }>;

/** As vitest's own worker of forks, but that the process begins with the first file, once that is admitted. */
class ScheduledWorker implements PoolWorker {
  /** The runner in the process is that of forks. */
  readonly name = 'forks';
  readonly cacheFs = true;
  readonly #options: PoolOptions;
  readonly #events = new EventEmitter();
  readonly #file = ++files;
  #start: WorkerRequest | undefined;
  #child: ChildProcess | undefined;
  #leave: (() => void) | undefined;
  #finish: (() => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
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
    } else if (this.#child?.connected) {
      this.#child.send(message);
    } else if (message.type === 'stop') {
      this.#answer('stopped');
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      const kill = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
      child.kill();
      await exited;
      clearTimeout(kill);
    }
    this.#leave?.();
    this.#leave = undefined;
  }

  deserialize(data: unknown): unknown {
    return data;
  }

  async #run(message: Run): Promise<void> {
    const path = relative(process.cwd(), message.context.files[0]!.filepath);
    const timing = timings[path] ?? UNKNOWN;
    this.#leave = await admit(timing);
    const child = this.#fork();
    const started = once(child, 'message');
    child.send(this.#start!);
    const [answer] = (await started) as [{ error?: unknown }];
    if (answer.error !== undefined) throw answer.error;
    this.#finish = observed(child, path, this.#file);
    child.on('message', (response: unknown) => {
      if (isEnd(response)) this.#finish?.();
      this.#events.emit('message', response);
    });
    child.send(message);
  }

  #fork(): ChildProcess {
    const { env, execArgv, distPath, project } = this.#options;
    const child = fork(join(distPath, 'workers/forks.js'), [], {
      env: { ...env, ...session?.environmentOf(this.#file) },
      execArgv,
      stdio: 'pipe',
      serialization: 'advanced',
    });
    this.#child = child;
    const { outputStream, errorStream } = project.vitest.logger;
    // One listener of each kind for each process that runs. Vitest adds to and takes from this number: 0 would become -1.
    for (const stream of [outputStream, errorStream]) stream.setMaxListeners(Infinity);
    child.stdout?.pipe(outputStream, { end: false });
    child.stderr?.pipe(errorStream, { end: false });
    child.on('error', (error) => this.#events.emit('error', error));
    child.on('exit', (code, signal) => {
      this.#finish?.();
      this.#events.emit('exit', code, signal);
    });
    return child;
  }

  #answer(type: 'started' | 'stopped'): void {
    // Vitest listens after it has sent.
    setImmediate(() => this.#events.emit('message', { __vitest_worker_response__: true, type }));
  }
}

async function admit(timing: Timing): Promise<() => void> {
  const isReady = () => session?.areReady(timing.needs) ?? true;
  if (isReady()) return lanes.enter(timing);
  const look = setInterval(() => lanes.lookAgain(), LOOK_FOR_COMPONENTS_MS);
  try {
    return await lanes.enter(timing, isReady);
  } finally {
    clearInterval(look);
  }
}

/** Measures a process until the returned function is called, and disturbs it if that was asked for. */
function observed(child: ChildProcess, path: string, file: number): () => void {
  const begun = performance.now();
  const calm = stress?.disturb(child.pid!, path);
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    calm?.();
    if (!session) return;
    const wallS = (performance.now() - begun) / 1000;
    session.addMeasure({ path, wallS, cpuS: cpuSecondsOf(child.pid!), needs: session.componentsOf(file) });
  };
}

function isEnd(response: unknown): boolean {
  return (response as { type?: string }).type === 'testfileFinished';
}
