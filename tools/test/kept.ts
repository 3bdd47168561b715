// What a run that goes on later has behind it: `.fairlead-tests/`, a file for each state of the sources.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = '.fairlead-tests';
/** A report or another document changes no test. */
const SOURCES = ['--', '.', ':!docs', ':!*.md', ':!tools/test/timings.json'];

export interface KeptAt {
  /** Of the sources; left out: as they are in the working tree. */
  readonly sources?: string;
  readonly folder?: string;
}

/** Entries of one kind of run on one state of the sources, in the order they came. Several processes may add at once. */
export class Kept<T> {
  readonly path: string;

  constructor(kind: string, { sources = digestOfSources(), folder = FOLDER }: KeptAt = {}) {
    mkdirSync(folder, { recursive: true });
    this.path = join(folder, `${kind}-${sources}.jsonl`);
  }

  all(): T[] {
    if (!existsSync(this.path)) return [];
    const lines = readFileSync(this.path, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
  }

  add(entry: T): void {
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`);
  }
}

/** Of all sources as they are in the working tree, committed or not. Throws where there is no git. */
export function digestOfSources(cwd = process.cwd()): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });
  const listed = git('ls-files', '-s', ...SOURCES);
  const changed = git('diff', ...SOURCES);
  const added = git('ls-files', '--others', '--exclude-standard', ...SOURCES)
    .split('\n')
    .filter((file) => file !== '');
  const digest = createHash('sha256').update(listed).update(changed);
  for (const file of added) digest.update(file).update(readFileSync(join(cwd, file)));
  return digest.digest('hex').slice(0, 16);
}
