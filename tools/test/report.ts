// The dated report of the full tier.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { minutes, slowest, totalOf } from './measures.js';
import type { Progress, Turn } from './progress.js';

/** Writes what is known of the tier on these sources so far. Returns the report's path. */
export function writeFullReport(files: readonly string[], progress: Progress, now = new Date()): string {
  const path = `docs/reports/${now.toISOString().slice(0, 10)}-full.md`;
  writeFileSync(path, fullReport(files, progress.turns(), { commit: commit(), cores: availableParallelism(), now }));
  return path;
}

export interface Circumstances {
  readonly commit: string;
  readonly cores: number;
  readonly now: Date;
}

/** As Markdown. Of several turns of a file a green one counts, else the last; those that were not green are told all the same. */
export function fullReport(
  files: readonly string[],
  turns: readonly Turn[],
  { commit, cores, now }: Circumstances,
): string {
  const counted = files.flatMap((file) => {
    const own = turns.filter(({ path }) => path === file);
    const turn = own.findLast(({ green }) => green) ?? own.at(-1);
    return turn ? [turn] : [];
  });
  const green = counted.filter((turn) => turn.green);
  const red = turns.filter((turn) => !turn.green);
  const missing = files.filter((file) => !counted.some(({ path }) => path === file));
  const tests = counted.reduce((sum, { passed }) => sum + passed, 0);
  const total = totalOf(counted);
  return [
    `# The full tier, ${now.toISOString().slice(0, 10)}`,
    '',
    `\`npm run test:full\` on ${commit}, ${cores} cores: ${green.length} of ${files.length} files green, ${tests} tests passed.`,
    `The files took ${minutes(total.wallS)} one after the other and ${minutes(total.cpuS)} of CPU time.`,
    ...list('Not run yet', missing),
    ...list(
      'Not green',
      red.map(({ path, failures }) => `${path}: ${failures[0]?.split('\n')[0] ?? 'skipped tests'}`),
    ),
    '',
    slowest(counted),
    '',
  ].join('\n');
}

function list(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines.map((line) => `- ${line}`)];
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':!docs');
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : ' with changes'}`;
}
