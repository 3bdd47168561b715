// What `test:repeat --stress` does to test files: a process that computes beside them, and stops of single processes now and then.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { runningProcesses, treeOf } from './processes.js';

const VARIABLE = 'FAIRLEAD_SUITE_STRESS';
/** Where a file names no deadline; what it waits for has seconds. */
const MODEST_MS = 250;
/** Between two stops of a file's processes. */
const BETWEEN_MS = { least: 1_000, most: 4_000 };
/** Names of settings that are deadlines, as `timeoutMs: 2_000` or `graceMs = 500`. */
const DEADLINE = /\b\w*(?:timeout|deadline|within|grace|interval|lease|ttl|keepalive)\w*Ms\b\s*[:=]\s*([\d_]+)/giu;

/** How long a process of a file may be stopped: a quarter of the shortest deadline that its text names, and never long. */
export function longestStopMs(text: string): number {
  const deadlines = [...text.matchAll(DEADLINE)]
    .map(([, digits]) => Number(digits!.replaceAll('_', '')))
    .filter((ms) => ms > 0);
  return Math.floor(Math.min(MODEST_MS, ...deadlines.map((ms) => ms / 4)));
}

export class Stress {
  static fromEnvironment(): Stress | undefined {
    return process.env[VARIABLE] === undefined ? undefined : new Stress();
  }

  /** For the environment of vitest. */
  static readonly environment: Readonly<Record<string, string>> = { [VARIABLE]: '1' };

  /** Stops one process of the tree now and then, for a moment. Returns what ends that; no process stays stopped. */
  disturb(pid: number, path: string): () => void {
    const longestMs = longestStopMs(readFileSync(path, 'utf8'));
    let stopped: number | undefined;
    let timer: NodeJS.Timeout;
    const goOn = () => {
      if (stopped !== undefined) signal(stopped, 'SIGCONT');
      stopped = undefined;
    };
    const later = () => {
      timer = setTimeout(stop, between(BETWEEN_MS.least, BETWEEN_MS.most));
    };
    const stop = () => {
      // What a test itself has stopped is not to go on before it says so.
      const tree = treeOf(pid, runningProcesses()).filter(({ isStopped }) => !isStopped);
      stopped = tree[Math.floor(Math.random() * tree.length)]?.pid;
      if (stopped !== undefined) signal(stopped, 'SIGSTOP');
      timer = setTimeout(
        () => {
          goOn();
          later();
        },
        between(longestMs / 4, longestMs),
      );
    };
    later();
    process.on('exit', goOn);
    return () => {
      clearTimeout(timer);
      goOn();
      process.off('exit', goOn);
    };
  }
}

/** A process that takes what it can get of one core, until the returned function is called. */
export function computeBeside(): () => void {
  // It ends with the pipe to this process, however that ends.
  const program =
    "process.stdin.on('end', () => process.exit()).resume(); (function go() { const end = Date.now() + 100; while (Date.now() < end); setImmediate(go); })()";
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'ignore', 'inherit'] });
  return () => child.kill();
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const between = (least: number, most: number): number => least + Math.random() * (most - least);
