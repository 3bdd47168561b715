// Which files a run that goes on later has behind it.
import { Kept } from './kept.js';
import type { Measure, Session } from './session.js';

const LOOK_MS = 2_000;

/** One time that a file ran. */
export interface Turn extends Measure {
  readonly green: boolean;
  readonly passed: number;
  readonly failures: readonly string[];
}

/** Turns of one kind of run (`full`, `repeat`) on one state of the sources. */
export class Progress {
  readonly #kept: Kept<Turn>;

  constructor(kind: string, sources?: string, folder?: string) {
    this.#kept = new Kept(kind, {
      ...(sources === undefined ? {} : { sources }),
      ...(folder === undefined ? {} : { folder }),
    });
  }

  turns(): Turn[] {
    return this.#kept.all();
  }

  add(turn: Turn): void {
    this.#kept.add(turn);
  }

  /** The files that were green at least once. */
  green(): Set<string> {
    return new Set(
      this.turns()
        .filter(({ green }) => green)
        .map(({ path }) => path),
    );
  }

  /** How often each file was run. */
  times(): Map<string, number> {
    const times = new Map<string, number>();
    for (const { path } of this.turns()) times.set(path, (times.get(path) ?? 0) + 1);
    return times;
  }
}

/** Does what runs the files, and keeps each file's turn as soon as it has ended; one that never said how it went was not green. */
export async function recordTurns<T>(
  session: Session,
  progress: Progress,
  files: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const kept = new Set<string>();
  const keep = () => {
    const results = new Map(session.results().map((result) => [result.path, result]));
    for (const measure of session.measures()) {
      const result = results.get(measure.path);
      if (!result || kept.has(measure.path)) continue;
      kept.add(measure.path);
      const { failures, skipped, passed } = result;
      progress.add({ ...measure, green: failures.length === 0 && skipped === 0, passed, failures });
    }
  };
  const look = setInterval(keep, LOOK_MS);
  try {
    return await work();
  } finally {
    clearInterval(look);
    keep();
    const failures = ['its process ended before it said how it went'];
    for (const path of files)
      if (!kept.has(path)) progress.add({ path, wallS: 0, cpuS: 0, needs: [], green: false, passed: 0, failures });
  }
}
