// What a run that goes on later has behind it: `.fairlead-tests/`, a file for each state of the sources.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Measure, Session } from './session.js';

const FOLDER = '.fairlead-tests';
const LOOK_MS = 2_000;
/** A report or another document changes no test. */
const SOURCES = ['--', '.', ':!docs', ':!*.md', ':!tools/test/timings.json'];

/** One time that a file ran. */
export interface Turn extends Measure {
  readonly green: boolean;
  readonly passed: number;
  readonly failures: readonly string[];
}

/** Turns of one kind of run (`full`, `repeat`) on one state of the sources. */
export class Progress {
  readonly #path: string;

  constructor(kind: string, sources = digestOfSources(), folder = FOLDER) {
    mkdirSync(folder, { recursive: true });
    this.#path = join(folder, `${kind}-${sources}.jsonl`);
  }

  turns(): Turn[] {
    if (!existsSync(this.#path)) return [];
    const lines = readFileSync(this.#path, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Turn);
  }

  add(turn: Turn): void {
    appendFileSync(this.#path, `${JSON.stringify(turn)}\n`);
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

/** Of all sources as they are in the working tree, committed or not. */
export function digestOfSources(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  const listed = git('ls-files', '-s', ...SOURCES);
  const changed = git('diff', ...SOURCES);
  const added = git('ls-files', '--others', '--exclude-standard', ...SOURCES)
    .split('\n')
    .filter((file) => file !== '');
  const digest = createHash('sha256').update(listed).update(changed);
  for (const file of added) digest.update(file).update(readFileSync(file));
  return digest.digest('hex').slice(0, 16);
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
