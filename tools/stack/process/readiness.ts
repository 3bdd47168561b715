import { systemClock } from '@fairlead/clock';
import { StackError } from '../errors.js';
import { describeExit, type Exit } from '../events.js';

export interface ReadinessOptions {
  readonly name: string;
  readonly healthUrl: string;
  readonly exited: Promise<Exit>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const POLL_MS = 100;

/** Polls `/readyz` until it says yes. Throws StackError if the process ends first or the time (default 60 s) is up. */
export async function untilReady(options: ReadinessOptions): Promise<void> {
  const { name, healthUrl, signal, timeoutMs = 60_000 } = options;
  let ended: Exit | undefined;
  void options.exited.then((exit) => (ended = exit));
  const deadline = systemClock.monotonicMs() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    if (ended) throw new StackError(`${name} ended (${describeExit(ended)}) before it was ready`);
    const problem = await askReadiness(healthUrl);
    if (problem === undefined) return;
    if (systemClock.monotonicMs() >= deadline) {
      throw new StackError(`${name} was not ready after ${timeoutMs / 1_000} s: ${problem}`);
    }
    await Promise.race([systemClock.sleep(POLL_MS, signal), options.exited]);
  }
}

/** Undefined when ready, else why not. */
async function askReadiness(healthUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(2_000) });
    const text = await response.text();
    return response.ok ? undefined : text.slice(0, 500).replaceAll(/\s+/g, ' ').trim();
  } catch {
    return 'its health server does not answer';
  }
}
