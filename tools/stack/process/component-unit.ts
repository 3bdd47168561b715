import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import type { Running } from '@fairlead/testbed';
import { StackError } from '../errors.js';
import type { Run, Unit } from './unit.js';

interface ComponentUnitOptions<T> {
  readonly name: string;
  /** The files that the component itself writes to, the telling one first. */
  readonly logPaths: readonly [string, ...string[]];
  /** The first start; later ones restart what this gave. */
  readonly start: (signal: AbortSignal) => Promise<Running<T>>;
}

/** A component of the testbed as a unit, and what it is reached by. */
export interface ComponentUnit<T> extends Unit {
  /** Known after the first start. */
  readonly info: T;
}

const MAX_LOG_BYTES = 32 * 2 ** 20;
const LOOK_MS = 30_000;
const TAIL_LINES = 20;

/**
 * A component that the testbed starts. It appends to its logs itself, so all that can be done about one that has grown too
 * large is to empty it, now and then.
 */
export function componentUnit<T>(options: ComponentUnitOptions<T>): ComponentUnit<T> {
  const { name, logPaths } = options;
  const [logPath] = logPaths;
  let running: Running<T> | undefined;
  return {
    name,
    logPath,
    tail: () => lastLines(logPath),
    get info() {
      if (running === undefined) throw new StackError(`${name} has not been started yet`);
      return running.info;
    },
    async start(signal) {
      if (running) await running.restart();
      else {
        boundLogs(logPaths);
        running = await options.start(signal);
        setInterval(() => boundLogs(logPaths), LOOK_MS).unref();
      }
      return runOf(running);
    },
  };
}

function boundLogs(paths: readonly string[]): void {
  for (const path of paths) if (existsSync(path) && statSync(path).size > MAX_LOG_BYTES) truncateSync(path);
}

function runOf<T>(running: Running<T>): Run {
  return {
    pid: running.pid,
    exited: running.exited,
    kill: (signal) => running.kill(signal),
    stop: () => running.stop(),
  };
}

function lastLines(path: string): readonly string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES) : [];
}
