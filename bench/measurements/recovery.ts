import { BenchError } from '../process/bench-error.js';
import type { RowName, SystemName } from '../rows.js';
import type { Part, System } from '../systems/system.js';
import { failedIn, type Bench, type Measurement } from './measurement.js';

const SYSTEMS: readonly SystemName[] = ['relay-go-tls', 'konnectivity', 'fairlead'];
const JOB = { kind: 'recover', connections: 1, tryMs: 1_000, timeoutMs: 30_000 } as const;
/** For so long after a kill each new connection through the other replica must work. */
const WATCH_MS = 3_000;

export const RECOVERY: readonly Measurement[] = [
  recover('recover_gateway_ms', 'gateway'),
  recover('recover_agent_ms', 'agent'),
  {
    rows: ['recover_failed_tries'],
    systems: ['fairlead'],
    async run(bench) {
      const system = await bench.system.withTwoLinks?.();
      if (!system) throw new BenchError('there is no second replica');
      const { failed, count } = await killDuring(bench, system, 'gateway', WATCH_MS);
      if (count === 0) return failedIn(this.rows, { count: failed, of: failed, reason: 'no try worked' });
      return { recover_failed_tries: { value: failed } };
    },
  },
];

/** From the end of a part, which is started again at once, until a new connection works. */
function recover(row: RowName, part: Part): Measurement {
  return {
    rows: [row],
    systems: SYSTEMS,
    async run(bench) {
      const { count, seconds, failed, of, reason } = await killDuring(bench, bench.system, part, 0);
      return count === 0 ? failedIn([row], { count: failed, of, reason }) : { [row]: { value: seconds * 1_000 } };
    },
  };
}

async function killDuring({ loadOn, answers }: Bench, system: System, part: Part, holdMs: number) {
  let started: Promise<void> = Promise.resolve();
  const atPhase = async (): Promise<void> => {
    await system.kill(part);
    started = system.start(part);
    // Awaited below; until then its failure is not news.
    started.catch(() => undefined);
  };
  const result = await loadOn(system, { ...JOB, holdMs }, { atPhase });
  await started;
  await answers();
  return result;
}
