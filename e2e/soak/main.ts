import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { REPOSITORY } from '@fairlead/stack';
import { TO_BE_CONTINUED, USAGE, UsageError, loadConfig, type Config } from './config.js';
import { KeptResults } from './kept-results.js';
import { formatReport, type Circumstances, type Result } from './report.js';

const INTERRUPTED = 130;

class Interrupted extends Error {}

// Not only the code: what a scenario that ran out of time still tries must not keep this process.
process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  try {
    const config = loadConfig(args);
    if (!config.help) return await soak(config);
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED;
    process.stderr.write(`${error instanceof UsageError ? error.message : String((error as Error).stack)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function soak(config: Config): Promise<number> {
  const facts = circumstances(config);
  const startedMs = performance.now();
  const say = (text: string): void => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    process.stdout.write(
      `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}  ${text}\n`,
    );
  };
  const kept = new KeptResults(config.area.name, config.scale);
  const todo = lettersToRun(config, kept.byLetter());
  if (todo.length < config.mine.length) say(`${config.mine.length - todo.length} ran before (${kept.path})`);
  if (todo.length > 0) await runThem(config, todo, { kept, say });
  const known = kept.byLetter();
  const results = config.scenarios.flatMap(({ letter }) => known.get(letter) ?? []);
  const left = config.scenarios.filter(({ letter }) => !known.has(letter)).map(({ letter }) => letter);
  keep(config, { ...facts, left }, results, say);
  return close(config, known, say);
}

/** What this run is asked for and has not behind it. */
function lettersToRun({ mine, again }: Config, known: ReadonlyMap<string, Result>): readonly string[] {
  const isDone = (result: Result | undefined): boolean => result !== undefined && !(again && result.faults.length > 0);
  return mine.filter(({ letter }) => !isDone(known.get(letter))).map(({ letter }) => letter);
}

interface Running {
  readonly kept: KeptResults;
  readonly say: (text: string) => void;
}

async function runThem(config: Config, letters: readonly string[], { kept, say }: Running): Promise<void> {
  const signal = limits(config.minutes);
  const endMs = performance.now() + config.minutes * 60_000;
  let [longestSeconds, hasFault] = [0, false];
  say(config.area.beginning);
  await using area = await config.area.open();
  await area.run(letters, config.scale, {
    signal,
    say,
    // It would be broken off, for nothing.
    mayBegin: () => performance.now() + longestSeconds * 1_000 < endMs,
    onResult: (result) => {
      kept.add(result);
      longestSeconds = Math.max(longestSeconds, result.seconds);
      hasFault ||= result.faults.length > 0;
    },
  });
  if (hasFault && config.logs !== undefined) writeFileSync(config.logs, `${area.log.join('\n')}\n`);
  if (signal.reason instanceof Interrupted) throw signal.reason;
}

/** Says how it went, and with which code to end. */
function close({ mine }: Config, known: ReadonlyMap<string, Result>, say: (text: string) => void): number {
  const left = mine.filter(({ letter }) => !known.has(letter));
  const held = mine.every(({ letter }) => (known.get(letter)?.faults.length ?? 0) === 0);
  say(held ? 'everything held' : 'not everything held');
  if (left.length === 0) return held ? 0 : 1;
  say(`to be continued, by the same command: ${left.length} of ${mine.length} are left`);
  return TO_BE_CONTINUED;
}

/** Aborts when the time is up, or at the first Ctrl-C; then everything is stopped in order. */
function limits(minutes: number): AbortSignal {
  const controller = new AbortController();
  const late = (): void => controller.abort(new Error(`the limit of ${minutes} minutes for the whole run was reached`));
  setTimeout(late, minutes * 60_000).unref();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => controller.abort(new Interrupted(signal)));
  }
  return controller.signal;
}

function keep(config: Config, facts: Circumstances, results: readonly Result[], say: (text: string) => void): void {
  if (results.length === 0) return;
  const ordinary = join(REPOSITORY, 'docs', 'reports', `${facts.date}-${config.area.name}.md`);
  const path = config.report ?? (config.full ? ordinary : undefined);
  if (path === undefined) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, formatReport(facts, results));
  say(`the report is ${path}`);
}

function circumstances({ scale, area }: Config): Circumstances {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commitOf(),
    scale,
    area,
    cores: availableParallelism(),
    memoryGb: totalmem() / 2 ** 30,
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    left: [],
  };
}

/** Without git, as in an unpacked archive, nobody can tell. */
function commitOf(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: REPOSITORY, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with changes';
    return `${git('rev-parse', '--short=12', 'HEAD')}${changed}`;
  } catch {
    return 'unknown';
  }
}
