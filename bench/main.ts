import { access, constants, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { FairleadError, messageOf } from '@fairlead/errors';
import { StackError } from '@fairlead/stack';
import { TestbedError } from '@fairlead/testbed';
import { USAGE, loadConfig, type Config } from './config.js';
import { buildGoPrograms } from './load/go-programs.js';
import { FULL, QUICK, measurementsFor } from './measurements.js';
import { BenchError } from './process/bench-error.js';
import { progressOn } from './progress.js';
import type { ResultRow } from './report/results.js';
import { formatTables } from './report/table.js';
import { runRounds, type RoundsOutcome } from './rounds.js';
import { startSystems } from './systems/start-systems.js';

const INTERRUPTED = 130;
const HOW_TO_READ = `One server, one client and five ways between them, in turns. relay-node and relay-go are two plain TCP relays
behind each other; they pass TLS through untouched. Fairlead ends TLS at the gateway, checks who asks, parses HTTP there and
at the agent, and encrypts anew twice; fairlead-relayed does it once more between two gateways. So a ratio of 1 to a relay
is not to be expected. docs/benchmarks.md says more.`;

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
  const { jsonFile } = config;
  if (jsonFile !== undefined) await requireWritable(dirname(resolve(jsonFile)));
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const outcome = await measure(config, signal);
  const rows = outcome.results.rows();
  const short = outcome.runs < config.runs ? ` (${config.runs} were asked for, but the time was up)` : '';
  process.stdout.write(`${HOW_TO_READ}\n
${availableParallelism()} cores, shared by everything here; load average ${load} when it began; Node ${process.version}; \
${outcome.runs} ${outcome.runs === 1 ? 'run' : 'runs'}${short}\n\n${formatTables(rows)}\n`);
  if (jsonFile !== undefined) await writeFile(jsonFile, `${JSON.stringify(rows, null, 2)}\n`);
  return rows.some(({ failed }: ResultRow) => failed !== undefined) ? 1 : 0;
}

async function measure(config: Config, signal: AbortSignal): Promise<RoundsOutcome> {
  const progress = progressOn(process.stderr);
  const { say } = progress;
  const scale = config.quick ? QUICK : FULL;
  try {
    const programs = await buildGoPrograms(say, signal);
    await using owned = new AsyncDisposableStack();
    const systems = await startSystems({ programs, say, signal }, owned);
    owned.defer(() => say('stopping everything'));
    const { rows, runs } = config;
    const measurements = measurementsFor(rows, scale);
    return await runRounds({ load: programs.load, systems, measurements, rows, runs, scale, say, signal });
  } finally {
    progress.end();
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
async function requireWritable(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw new BenchError(`--json: the folder ${folder} cannot be written to`, { cause });
  }
}

/** One line for a person where the reason is known. */
function explain(error: unknown): string {
  const known = [BenchError, StackError, TestbedError, FairleadError].some((kind) => error instanceof kind);
  return known || !(error instanceof Error) ? messageOf(error) : (error.stack ?? error.message);
}
