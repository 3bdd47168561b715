import { systemClock, type Clock } from '@fairlead/clock';
import { runLoad, type Job, type LoadResult } from './load/load-generator.js';
import { WARM_UP, type Measurement, type Scale } from './measurements.js';
import { BenchError } from './process/bench-error.js';
import { cpuSeconds } from './process/cpu-time.js';
import { Results } from './report/results.js';
import type { RowName } from './rows.js';
import type { System } from './systems/system.js';

export interface RoundsOptions {
  /** Path of the load generator. */
  readonly load: string;
  readonly systems: readonly System[];
  readonly measurements: readonly Measurement[];
  /** Of what the measurements yield, these are kept. */
  readonly rows: readonly RowName[];
  readonly runs: number;
  readonly scale: Scale;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

export interface RoundsOutcome {
  readonly results: Results;
  /** Fewer than asked for if the time was up. */
  readonly runs: number;
}

const REACHABLE_TIMEOUT_MS = 15_000;
const RETRY_MS = 200;

/** Measures everything `runs` times; each time in the other order, so that no system always has the warmer machine. */
export async function runRounds(options: RoundsOptions): Promise<RoundsOutcome> {
  const { runs, scale, say, clock = systemClock } = options;
  await warmUp(options);
  const results = new Results();
  const startedMs = clock.monotonicMs();
  const until = startedMs + scale.totalMs;
  let longestMs = 0;
  for (let round = 0; round < runs; round += 1) {
    const beganMs = clock.monotonicMs();
    if (round > 0 && beganMs + longestMs > until) return { results, runs: round };
    await measureOnce(options, round, results, until);
    longestMs = Math.max(longestMs, clock.monotonicMs() - beganMs);
    say(`round ${round + 1} of ${runs} took ${((clock.monotonicMs() - beganMs) / 1_000).toFixed(1)} s`);
  }
  return { results, runs };
}

/** Systems in the order of a round: forwards, then backwards. */
export function orderOf<T>(systems: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...systems] : systems.toReversed();
}

/** Waits until a system answers at all, then warms it. One that never answers is left to fail in its rows. */
async function warmUp(options: RoundsOptions): Promise<void> {
  const { load, systems, say, signal, clock = systemClock } = options;
  for (const system of systems) {
    say(`warming up ${system.name}`);
    const until = clock.monotonicMs() + REACHABLE_TIMEOUT_MS;
    const run = (job: Job): Promise<LoadResult> =>
      runLoad(load, system, job, { enoughMs: 1_000, timeoutMs: 10_000, signal });
    while ((await run({ kind: 'ping', connections: 1, count: 1 })).failed > 0 && clock.monotonicMs() < until) {
      await clock.sleep(RETRY_MS, signal);
    }
    for (const job of WARM_UP) await run(job);
  }
}

async function measureOnce(options: RoundsOptions, round: number, results: Results, until: number): Promise<void> {
  const { measurements, systems, scale, signal, load, clock = systemClock } = options;
  for (const measurement of measurements) {
    for (const system of orderOf(systems, round)) {
      const timeoutMs = Math.min(scale.jobTimeoutMs, Math.max(1_000, until - clock.monotonicMs()));
      const limits = { enoughMs: scale.enoughMs, timeoutMs, signal };
      const result = await attempt(() => runLoad(load, system, measurement.job, limits), system.pids);
      signal.throwIfAborted();
      record(options.rows, measurement, system, result, results);
    }
  }
}

type Attempt =
  | { readonly kind: 'result'; readonly result: LoadResult; readonly cpuSeconds: number | null }
  | { readonly kind: 'broken'; readonly reason: string };

/** A load generator or a system that breaks down fails its rows, and the run goes on. */
async function attempt(load: () => Promise<LoadResult>, pids: readonly number[]): Promise<Attempt> {
  try {
    const before = pids.length === 0 ? null : await cpuSeconds(pids);
    const result = await load();
    const after = before === null ? null : await cpuSeconds(pids);
    return { kind: 'result', result, cpuSeconds: before === null || after === null ? null : after - before };
  } catch (error) {
    if (error instanceof BenchError) return { kind: 'broken', reason: error.message };
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'broken', reason: 'a process is gone' };
    throw error;
  }
}

function record(
  rows: readonly RowName[],
  measurement: Measurement,
  { name }: System,
  attempted: Attempt,
  results: Results,
): void {
  const wanted = measurement.rows.filter((row) => rows.includes(row));
  if (attempted.kind === 'broken' || attempted.result.failed > 0) {
    const failure =
      attempted.kind === 'broken'
        ? { count: 1, of: 1, reason: attempted.reason }
        : { count: attempted.result.failed, of: attempted.result.of, reason: attempted.result.reason };
    for (const row of wanted) results.fail(row, name, failure);
    return;
  }
  const figures = measurement.read(attempted.result, attempted.cpuSeconds);
  for (const row of wanted) {
    const figure = figures[row];
    if (figure !== undefined) results.add(row, name, figure);
  }
}
