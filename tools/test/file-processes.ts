// The processes of test files. A file that leaves its process as it found it hands it on: what is imported from packages stays, our own
// modules are evaluated anew by vitest for each file. A file with `// @process own: <reason>` gets and leaves none to others.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PoolOptions, WorkerRequest } from 'vitest/node';
import type { Begin, Rest, Rested } from './shared-process.ts';

/** What a process has to end by itself, or to say what was left in it, before it is killed. */
const GRACE_MS = 1_000;
/** Restarts memory and whatever else grows unseen. */
const FILES_PER_PROCESS = 12;
const DIRECTIVE = /^\/\/ @process own: .{10,}$/mu;

export interface FileProcess {
  readonly child: ChildProcess;
  readonly isOwn: boolean;
  files: number;
}

/** Whether a file's text asks for a process of its own. */
export function wantsOwnProcess(text: string): boolean {
  return DIRECTIVE.test(text);
}

export class FileProcesses {
  readonly #idle = new Map<string, FileProcess[]>();
  #outstanding = 0;

  /** Somebody will take a process and give it back, or end it. */
  expect(): void {
    this.#outstanding += 1;
  }

  /** One that is idle, or a new one in which vitest's worker has started. Throws what kept it from that. */
  async take(
    path: string,
    options: PoolOptions,
    start: WorkerRequest,
    env: Readonly<Record<string, string>>,
  ): Promise<FileProcess> {
    const isOwn = options.project.name !== 'integration' || wantsOwnProcess(readFileSync(path, 'utf8'));
    const idle = isOwn ? undefined : this.#idle.get(options.project.name)?.pop();
    const taken = idle ?? (await begin(options, start, isOwn));
    taken.files += 1;
    taken.child.send({ fairlead: 'begin', env } satisfies Begin);
    return taken;
  }

  /** Kept for the next file if nothing was left in it; else ended. Undefined where none was taken. */
  async giveBack(taken: FileProcess | undefined, project: string): Promise<void> {
    if (taken && !(await this.#keep(taken, project))) await end(taken.child);
    this.#outstanding -= 1;
    // Nobody is to come: what is idle would keep vitest from ending.
    if (this.#outstanding === 0) await Promise.all([...this.#idle.values()].flat().map(({ child }) => end(child)));
  }

  async #keep(taken: FileProcess, project: string): Promise<boolean> {
    if (taken.isOwn || taken.files >= FILES_PER_PROCESS || !(await isClean(taken.child))) return false;
    this.#idle.set(project, [...(this.#idle.get(project) ?? []), taken]);
    return true;
  }
}

async function begin(options: PoolOptions, start: WorkerRequest, isOwn: boolean): Promise<FileProcess> {
  const { env, execArgv, distPath, project } = options;
  const child = fork(join(import.meta.dirname, 'shared-process.ts'), [join(distPath, 'workers/forks.js')], {
    env,
    execArgv,
    stdio: 'pipe',
    serialization: 'advanced',
  });
  // Of an idle process nobody else hears.
  child.on('error', () => child.kill('SIGKILL'));
  const { outputStream, errorStream } = project.vitest.logger;
  // One listener of each kind for each process that runs. Vitest adds to and takes from this number: 0 would become -1.
  for (const stream of [outputStream, errorStream]) stream.setMaxListeners(Infinity);
  child.stdout?.pipe(outputStream, { end: false });
  child.stderr?.pipe(errorStream, { end: false });
  child.send(start);
  const [answer] = (await once(child, 'message')) as [{ error?: unknown }];
  if (answer.error !== undefined) throw answer.error;
  return { child, isOwn, files: 0 };
}

async function isClean(child: ChildProcess): Promise<boolean> {
  if (hasEnded(child) || !child.connected) return false;
  let forget = () => {};
  const answered = new Promise<Rested | undefined>((resolve) => {
    const onMessage = (message: Rested) => message.fairlead === 'rested' && resolve(message);
    const onEnd = () => resolve(undefined);
    const timer = setTimeout(onEnd, GRACE_MS);
    child.on('message', onMessage).once('exit', onEnd);
    forget = () => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onEnd);
    };
  });
  child.send({ fairlead: 'rest' } satisfies Rest);
  const rested = await answered;
  forget();
  return rested?.left.length === 0;
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exited = once(child, 'exit');
  const kill = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  child.kill();
  await exited;
  clearTimeout(kill);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
