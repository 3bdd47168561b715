import { access, chmod, constants, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { FairleadError, messageOf } from '@fairlead/errors';
import { StackError } from '@fairlead/stack';
import { TestbedError, findBinary } from '@fairlead/testbed';
import { scratchDir } from '@fairlead/testing';
import { fillAndAsk } from './audit-rows/fill-and-ask.js';
import { USAGE, loadConfig, type Config } from './config.js';
import { buildGoPrograms, buildPeer, type GoPrograms } from './load/go-programs.js';
import { measurementsFor } from './measurements/catalog.js';
import { BenchError } from './process/bench-error.js';
import { rerunInNamespace } from './process/own-namespace.js';
import { progressOn } from './progress.js';
import type { ResultRow, Results } from './report/results.js';
import { formatMarkdown, formatText } from './report/table.js';
import { runRounds } from './rounds.js';
import { ROWS, type Row } from './rows.js';
import { openRunState } from './run-state.js';
import { FULL, QUICK } from './scale.js';
import { startApiSystems } from './systems/api-door.js';
import { startAuditSystems } from './systems/audit.js';
import { startSystems } from './systems/start-systems.js';

const INTERRUPTED = 130;

class Interrupted extends Error {}

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const config = loadConfig(args);
    if (!config.help) return await bench(config, interruption());
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED;
    process.stderr.write(`${explain(error)}\n`);
    return error instanceof FairleadError && error.code === 'INVALID_ARGUMENT' ? 2 : 1;
  }
}

async function bench(config: Config, signal: AbortSignal): Promise<number> {
  for (const file of [config.jsonFile, config.markdownFile]) if (file !== undefined) await requireWritable(file);
  if (config.millions !== undefined) return measureRows(config, config.millions, signal);
  const wantsFar = measurementsFor(config.rows).some(({ far }) => far);
  if (!wantsFar || config.inside) return measureAndReport(config, { far: wantsFar }, signal);
  const { wan } = await fetchEverything(config, signal);
  try {
    return await rerunInNamespace({ main: process.argv[1] ?? '', args: process.argv.slice(2), wan, signal });
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    return measureAndReport(config, { far: false, farUnavailable: error.message }, signal);
  }
}

async function measureRows({ jsonFile, markdownFile }: Config, millions: number, signal: AbortSignal): Promise<number> {
  const progress = progressOn(process.stderr);
  try {
    await using scratch = await scratchDir('fairlead-bench-');
    await chmod(scratch.path, 0o711);
    const figures = await fillAndAsk({ rows: millions * 1_000_000, dir: scratch.path, say: progress.say, signal });
    progress.end();
    const lines = figures.map(({ what, value, unit }) => [what, value.toPrecision(3), unit] as const);
    process.stdout.write(`${lines.map((line) => line.join('  ')).join('\n')}\n`);
    if (jsonFile !== undefined) await writeFile(jsonFile, `${JSON.stringify(figures, null, 2)}\n`);
    const table = [
      '| figure | value | unit |',
      '| --- | --- | --- |',
      ...lines.map((line) => `| ${line.join(' | ')} |`),
    ];
    if (markdownFile !== undefined) await writeFile(markdownFile, `${table.join('\n')}\n`);
    return 0;
  } finally {
    progress.end();
  }
}

/** What has to be downloaded and built: from within a namespace nothing can be reached. */
async function fetchEverything({ systems }: Config, signal: AbortSignal): Promise<GoPrograms> {
  const progress = progressOn(process.stderr);
  const { say } = progress;
  try {
    const programs = await buildGoPrograms(say, signal);
    if (systems.includes('konnectivity')) await buildPeer(say, signal);
    // The stack says itself what it cannot do without.
    await Promise.allSettled(
      (['nats-server', 'kubectl'] as const).map((name) => findBinary(name, { log: say, signal })),
    );
    return programs;
  } finally {
    progress.end();
  }
}

async function measureAndReport(config: Config, distance: Distance, signal: AbortSignal): Promise<number> {
  const { jsonFile, markdownFile } = config;
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const rows = await measure(config, distance, signal);
  const conditions = `${availableParallelism()} cores, shared by everything here; load average ${load} when it began; Node \
${process.version}; ${config.runs} ${config.runs === 1 ? 'run' : 'runs'}${config.quick ? ', --quick' : ''}`;
  process.stdout.write(`${conditions}\n\n${formatText(rows)}\n`);
  if (jsonFile !== undefined) await writeFile(jsonFile, `${JSON.stringify(rows, null, 2)}\n`);
  if (markdownFile !== undefined) await writeFile(markdownFile, `${conditions}\n\n${formatMarkdown(rows)}\n`);
  return rows.some(isMissing) ? 1 : 0;
}

/** A figure that should be there is not. That a system freezes is a finding where the row looks for it. */
function isMissing({ row, median, unmeasured }: ResultRow): boolean {
  const { mayFreeze }: Row = ROWS[row];
  return unmeasured !== undefined || (median === null && !mayFreeze);
}

interface Distance {
  /** Whether the far systems are started. */
  readonly far: boolean;
  /** Why they cannot be. */
  readonly farUnavailable?: string;
}

async function measure(config: Config, distance: Distance, signal: AbortSignal): Promise<ResultRow[]> {
  const progress = progressOn(process.stderr);
  const { say } = progress;
  const { area, rows, runs, quick, systems: wanted } = config;
  const scale = quick ? QUICK : FULL;
  try {
    const state = await openRunState(config);
    if (state.steps > 0) say(`going on after ${state.steps} steps of a run that was cut off (--fresh begins anew)`);
    const programs = await buildGoPrograms(say, signal);
    await using owned = new AsyncDisposableStack();
    const scratch = owned.use(await scratchDir('fairlead-bench-'));
    // Postgres may run as a user of its own: it passes through.
    await chmod(scratch.path, 0o711);
    const { far, farUnavailable } = distance;
    const start = { tunnel: startSystems, 'api-door': startApiSystems, audit: startAuditSystems }[area];
    const systems = await start({ programs, wanted, far, dir: scratch.path, say, signal }, owned);
    owned.defer(() => say('stopping everything'));
    const measurements = measurementsFor(rows);
    await runRounds({ load: programs.load, systems, measurements, rows, runs, scale, state, say, signal });
    if (farUnavailable !== undefined) markFarUnmeasured(state.results, config, farUnavailable);
    await state.forget();
    return state.results.rows(scale);
  } finally {
    progress.end();
  }
}

function markFarUnmeasured(results: Results, { rows, systems }: Config, reason: string): void {
  for (const measurement of measurementsFor(rows).filter(({ far }) => far)) {
    const missing = measurement.systems?.filter((name) => systems.includes(name)) ?? systems;
    for (const row of measurement.rows.filter((name) => rows.includes(name))) {
      for (const system of missing) results.unmeasured(row, system, reason);
    }
  }
}

/** Aborts at the first Ctrl-C (or SIGTERM, SIGHUP); what runs is then stopped in order. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => controller.abort(new Interrupted(signal)));
  }
  return controller.signal;
}

/** Now, not after minutes of measuring. */
async function requireWritable(file: string): Promise<void> {
  const folder = dirname(resolve(file));
  try {
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw new BenchError(`the folder ${folder} cannot be written to`, { cause });
  }
}

/** One line for a person where the reason is known. */
function explain(error: unknown): string {
  const known = [BenchError, StackError, TestbedError, FairleadError].some((kind) => error instanceof kind);
  return known || !(error instanceof Error) ? messageOf(error) : (error.stack ?? error.message);
}
