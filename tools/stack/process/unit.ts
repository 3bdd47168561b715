import type { Exit } from '../events.js';

/** One life of a process. */
export interface Run {
  readonly pid: number | undefined;
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** Asks it to end, insists after a while, resolves when it is gone. */
  stop(): Promise<void>;
}

/** Something that can be started again and again, always with the same name, ports and data. */
export interface Unit {
  readonly name: string;
  readonly logPath: string;
  /** Resolves when it is ready. Throws StackError, and leaves nothing running, if it ends first or takes too long. */
  start(signal: AbortSignal): Promise<Run>;
  /** The last lines it wrote. */
  tail(): readonly string[];
}
