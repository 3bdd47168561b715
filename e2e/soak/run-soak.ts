import { Findings } from '../chaos/findings.js';
import type { AnyWorld } from '../chaos/any-world.js';
import type { Scenario } from '../chaos/scenario.js';
import type { Result } from './report.js';

const TICK_MS = 30_000;

/** Who waits for a soak, and how long. */
export interface Watched {
  /** Ends the run: what a scenario found by then counts, and the time being up is a fault of it. */
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

export interface SoakOptions<W, S> extends Watched {
  readonly scenarios: readonly Scenario<W, S>[];
  readonly sizes: S;
}

/** Runs the scenarios one after the other in one world, each on a whole one. Never rejects for what a scenario does. */
export async function runSoak<W extends AnyWorld, S extends { readonly judgesTimes: boolean }>(
  world: W,
  { scenarios, sizes, signal, say }: SoakOptions<W, S>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const scenario of scenarios) {
    if (signal.aborted) break;
    say(`${scenario.letter}  ${scenario.title}`);
    const result = await runOne(world, scenario, { sizes, signal, say });
    for (const { what, value } of result.figures) say(`     ${what}: ${value}`);
    for (const fault of result.faults) say(`     DID NOT HOLD: ${fault}`);
    results.push(result);
  }
  return results;
}

async function runOne<W extends AnyWorld, S extends { readonly judgesTimes: boolean }>(
  world: W,
  { letter, title, run }: Scenario<W, S>,
  { sizes, signal, say }: Omit<SoakOptions<W, S>, 'scenarios'>,
): Promise<Result> {
  const findings = new Findings(sizes);
  const startedMs = performance.now();
  const seconds = (): number => (performance.now() - startedMs) / 1_000;
  const ticker = setInterval(() => say(`     … ${Math.round(seconds())} s ${findings.doing}`), TICK_MS);
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
  return { letter, title, seconds: seconds(), figures: [...findings.figures], faults: [...findings.faults] };
}
