import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import type { Running } from '@fairlead/testbed';
import { StackError } from '../errors.js';
import type { Run, Unit } from './unit.js';

export interface ComponentUnitOptions<T> {
  readonly name: string;
  /** The file that the component itself writes to. */
  readonly logPath: string;
  /** The first start; later ones restart what this gave. */
  readonly start: (signal: AbortSignal) => Promise<Running<T>>;
}

/** A component of the testbed as a unit, and what it is reached by. */
export interface ComponentUnit<T> extends Unit {
  /** Known after the first start. */
  readonly info: T;
}

const MAX_LOG_BYTES = 32 * 2 ** 20;
const TAIL_LINES = 20;

/** A component that the testbed starts. Its log is bounded once, before the first start: the component appends to it itself. */
export function componentUnit<T>(options: ComponentUnitOptions<T>): ComponentUnit<T> {
  const { name, logPath } = options;
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
        if (existsSync(logPath) && statSync(logPath).size > MAX_LOG_BYTES) truncateSync(logPath);
        running = await options.start(signal);
      }
      return runOf(running);
    },
  };
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
