import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { REPOSITORY } from '@fairlead/stack';
import { USAGE, UsageError, loadConfig, type Config } from './config.js';
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
  const before = circumstances(config);
  const startedMs = performance.now();
  const say = (text: string): void => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    process.stdout.write(
      `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}  ${text}\n`,
    );
  };
  const signal = limits(config.minutes);
  say(config.area.beginning);
  await using area = await config.area.open();
  const letters = config.scenarios.map(({ letter }) => letter);
  const results = await area.run(letters, config.scale, { signal, say });
  if (signal.reason instanceof Interrupted) throw signal.reason;
  const left = config.scenarios.slice(results.length).map(({ letter }) => letter);
  const held = left.length === 0 && results.every(({ faults }) => faults.length === 0);
  keep(config, { ...before, left }, results, say);
  if (!held && config.logs !== undefined) writeFileSync(config.logs, `${area.log.join('\n')}\n`);
  say(held ? 'everything held' : 'not everything held');
  return held ? 0 : 1;
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
    load: loadavg()[0] ?? 0,
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
