import { systemClock } from '@fairlead/clock';
import { runLoad, type Job } from './load/load-generator.js';
import type { Bench, Findings, Measurement } from './measurements/measurement.js';
import { BenchError } from './process/bench-error.js';
import type { Results } from './report/results.js';
import type { RowName } from './rows.js';
import type { Scale } from './scale.js';
import type { State } from './state.js';
import type { Systems } from './systems/start-systems.js';
import { PARTS, type System } from './systems/system.js';
import { Turns } from './turns.js';

export interface RoundsOptions {
  /** Path of the load generator. */
  readonly load: string;
  readonly systems: Systems;
  readonly measurements: readonly Measurement[];
  /** Of what the measurements yield, these are kept. */
  readonly rows: readonly RowName[];
  readonly runs: number;
  readonly scale: Scale;
  readonly state: State;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

const REACHABLE_TIMEOUT_MS = 20_000;
const RETRY_MS = 100;

/** Whether anybody answers: a new connection, and a byte there and back. */
const ANSWERS = { kind: 'connect', connections: 1, count: 1 } as const;
const API_ANSWERS = { kind: 'api-first', path: '/version', connections: 1, count: 1 } as const;

/** Brings code and connections to the temperature of daily work before anything counts. */
const API_WARM_UP: readonly Job[] = [
  { kind: 'api-get', path: '/api/v1/namespaces', connections: 4, count: 2_000, enoughMs: 2_000, timeoutMs: 10_000 },
  { kind: 'api-first', path: '/version', connections: 1, count: 32, enoughMs: 1_000, timeoutMs: 10_000 },
];
const WARM_UP: readonly Job[] = [
  { kind: 'ping', connections: 1, count: 100, enoughMs: 1_000, timeoutMs: 10_000 },
  { kind: 'download', connections: 4, bytes: 32_000_000, timeoutMs: 10_000 },
  { kind: 'connect', connections: 8, count: 64, enoughMs: 1_000, timeoutMs: 10_000 },
];

/** Measures everything `runs` times; each time in the other order, so that no system always has the warmer machine. */
export async function runRounds(options: RoundsOptions): Promise<void> {
  const { runs, say, systems, measurements, state, scale } = options;
  const steps = measurements.flatMap((measurement) => systemsFor(measurement, systems)).length;
  const minutes = Math.ceil((steps * runs * scale.stepMs) / 60_000);
  say(
    `${steps} steps a run: about ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} for ${runs === 1 ? 'one' : runs}`,
  );
  for (const system of systems.near) await warmUp(options, system);
  for (let round = 0; round < runs; round += 1) {
    const beganMs = systemClock.monotonicMs();
    for (const measurement of measurements) {
      for (const group of groupsOf(measurement, orderOf(systemsFor(measurement, systems), round))) {
        const names = group.map(({ name }) => name);
        const step = `${round}/${measurement.rows.join('+')}/${names.join('+')}`;
        if (state.isDone(step)) continue;
        say(`run ${round + 1} of ${runs}: ${measurement.rows[0]}, ${names.join(', ')}`);
        const turns = new Turns(names);
        await Promise.all(group.map((system) => measureOnce(options, measurement, system, turns)));
        await state.done(step);
      }
    }
    say(`run ${round + 1} of ${runs} took ${((systemClock.monotonicMs() - beganMs) / 1_000).toFixed(1)} s`);
  }
}

/** Systems in the order of a round: forwards, then backwards. */
export function orderOf<T>(systems: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...systems] : systems.toReversed();
}

function systemsFor({ systems: names, far }: Measurement, systems: Systems): System[] {
  return (far ? systems.far : systems.near).filter(({ name }) => names === undefined || names.includes(name));
}

/** What is measured at the same time. */
function groupsOf({ abreast }: Measurement, systems: readonly System[]): System[][] {
  if (systems.length === 0) return [];
  return abreast ? [[...systems]] : systems.map((system) => [system]);
}

async function measureOnce(
  options: RoundsOptions,
  measurement: Measurement,
  system: System,
  turns: Turns,
): Promise<void> {
  const { signal, state } = options;
  const bench = { ...benchOf(options, system), turn: () => turns.take(system.name) };
  const rows = measurement.rows.filter((row) => options.rows.includes(row));
  try {
    // A measurement before it may have taken the far agent's gateway away.
    if (measurement.far) await bench.answers();
    if (measurement.fresh) await renew(options, system);
    const findings = await measurement.run(bench);
    record(rows, system, findings, state.results);
    if (Object.values(findings).some(({ failed }) => failed !== undefined)) await mend(options, system);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof BenchError)) throw error;
    for (const row of rows) state.results.unmeasured(row, system.name, error.message);
    await mend(options, system);
  } finally {
    turns.leave(system.name);
  }
}

function benchOf(options: RoundsOptions, system: System): Omit<Bench, 'turn'> {
  const { load: program, scale, signal } = options;
  const loadOn: Bench['loadOn'] = ({ entrance }, job, more) => runLoad(program, entrance, job, { signal, ...more });
  const answering = async (): Promise<void> => {
    if (!(await answersInTime(options, system))) throw new BenchError(`${system.name} does not answer`);
  };
  const load: Bench['load'] = (job, more) => loadOn(system, job, more);
  return { system, scale, signal, loadOn, load, answers: answering, renew: () => renew(options, system) };
}

function record(rows: readonly RowName[], { name }: System, findings: Findings, results: Results): void {
  for (const row of rows) {
    const { value, failed } = findings[row] ?? {};
    if (value !== undefined) results.add(row, name, value);
    if (failed) results.fail(row, name, failed);
  }
}

/** A system that a row left broken is started anew, so that the next row finds one that works. */
async function mend(options: RoundsOptions, system: System): Promise<void> {
  if (await answers(options, system, 3_000)) return;
  options.say(`${system.name} does not answer any more: starting it anew`);
  await renew(options, system);
}

async function renew(options: RoundsOptions, system: System): Promise<void> {
  try {
    for (const part of PARTS) await system.kill(part);
    for (const part of PARTS) await system.start(part);
  } catch (error) {
    options.signal.throwIfAborted();
    throw new BenchError(`${system.name} could not be started anew`, { cause: error });
  }
  await warmUp(options, system);
}

/** Waits until a system answers at all, then warms it. One that never answers is left to fail in its rows. */
async function warmUp(options: RoundsOptions, system: System): Promise<void> {
  options.say(`warming up ${system.name}`);
  if (!(await answersInTime(options, system))) return;
  const { load } = benchOf(options, system);
  for (const job of system.entrance.api ? API_WARM_UP : WARM_UP) await load(job);
}

async function answersInTime(options: RoundsOptions, system: System): Promise<boolean> {
  const until = systemClock.monotonicMs() + REACHABLE_TIMEOUT_MS;
  while (!(await answers(options, system, 2_000))) {
    if (systemClock.monotonicMs() > until) return false;
    await systemClock.sleep(RETRY_MS, options.signal);
  }
  return true;
}

async function answers(options: RoundsOptions, system: System, timeoutMs: number): Promise<boolean> {
  const { load } = benchOf(options, system);
  const job = system.entrance.api ? API_ANSWERS : ANSWERS;
  return (await load({ ...job, timeoutMs })).failed === 0;
}
