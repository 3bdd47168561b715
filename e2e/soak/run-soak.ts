import { loadavg } from 'node:os';
import { Findings } from '../chaos/findings.js';
import type { AnyWorld } from '../chaos/any-world.js';
import type { Scenario } from '../chaos/scenario.js';
import type { Result } from './report.js';

const TICK_MS = 30_000;

/** Who waits for a soak, and how long. */
export interface Watched {
  /** Ends the run: what is under way then counts for nothing, and has to be run again. */
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** Told of each scenario that went to its end. */
  readonly onResult: (result: Result) => void;
  /** Is there time for one more? */
  readonly mayBegin: () => boolean;
}

export interface SoakOptions<W, S> extends Watched {
  readonly scenarios: readonly Scenario<W, S>[];
  readonly sizes: S;
  /** Scenarios under way at once, of a world that sees to it that none disturbs what another one measures. */
  readonly lanes: number;
}

/** Runs the scenarios in their order in one world, each on a whole one. Never rejects for what a scenario does. */
export async function runSoak<W extends AnyWorld, S extends { readonly judgesTimes: boolean }>(
  world: W,
  options: SoakOptions<W, S>,
): Promise<void> {
  const left = [...options.scenarios];
  const lane = async (): Promise<void> => {
    while (left.length > 0 && !options.signal.aborted && options.mayBegin()) {
      const next = left.shift();
      if (next) await runNext(world, next, options);
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, lane));
}

async function runNext<W extends AnyWorld, S extends { readonly judgesTimes: boolean }>(
  world: W,
  scenario: Scenario<W, S>,
  options: SoakOptions<W, S>,
): Promise<void> {
  const { letter, title } = scenario;
  const { signal, onResult } = options;
  // Lines of several scenarios may stand between each other.
  const say = (text: string): void => options.say(`${letter}  ${text}`);
  say(title);
  const result = await runOne(world, scenario, { ...options, say });
  for (const { what, value } of result.figures) say(`${what}: ${value}`);
  for (const fault of result.faults) say(`DID NOT HOLD: ${fault}`);
  if (signal.aborted) say('was broken off');
  else onResult(result);
}

async function runOne<W extends AnyWorld, S extends { readonly judgesTimes: boolean }>(
  world: W,
  { letter, title, run }: Scenario<W, S>,
  { sizes, signal, say }: SoakOptions<W, S>,
): Promise<Result> {
  const findings = new Findings(sizes);
  const [startedMs, load] = [performance.now(), loadavg()[0] ?? 0];
  const seconds = (): number => (performance.now() - startedMs) / 1_000;
  const ticker = setInterval(() => say(`… ${Math.round(seconds())} s ${findings.doing}`), TICK_MS);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const running = world.whole().then(() => run(world, sizes, findings));
    // If the time is up first, what becomes of it is nobody's business any more.
    running.catch(() => undefined);
    await Promise.race([running, aborted]);
  } catch (error) {
    findings.must(false, error instanceof Error ? error.message : String(error));
  } finally {
    clearInterval(ticker);
    signal.removeEventListener('abort', onAbort);
  }
  return { letter, title, load, seconds: seconds(), figures: [...findings.figures], faults: [...findings.faults] };
}
