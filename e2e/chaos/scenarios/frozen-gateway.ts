import { eventually } from '@fairlead/testing';
import { ping } from '../../support/transfers.js';
import type { Scenario } from '../scenario.js';
import { Pings } from './pings.js';
import type { Replica } from '../world.js';

const NOTICED_WITHIN_MS = 15_000;
const TRY_MS = 3_000;

/** A replica that holds a link is frozen: its port still takes connections, and nothing comes back. */
export const frozenGateway: Scenario = {
  letter: 'c2',
  title: 'gateway SIGSTOP',
  async run(world, _sizes, findings) {
    const { holders, others } = await world.roles();
    const [frozen, holder] = holders as [Replica, Replica];
    const pings = await Pings.start([world.way(holder)]);
    const lost = world.agent.nextEvent('link.lost', 4 * NOTICED_WITHIN_MS);
    const frozenMs = performance.now();
    world.stack.process(frozen.name).kill('SIGSTOP');
    try {
      await ping(world.way(holder));
      const relayedMs = relayAgain(others[0] as Replica);
      void Promise.allSettled([relayedMs, lost]);
      await lost;
      const noticedMs = performance.now() - frozenMs;
      findings.figure('the agent noticed after', noticedMs, 'ms');
      findings.mustInTime(noticedMs <= NOTICED_WITHIN_MS, `the agent noticed after ${Math.round(noticedMs)} ms only`);
      findings.figure('a door without a link leads to the agent again after', await relayedMs, 'ms');
      findings.mustInTime(
        (await relayedMs) <= NOTICED_WITHIN_MS,
        `the relay hung for ${Math.round(await relayedMs)} ms`,
      );
    } finally {
      world.stack.process(frozen.name).kill('SIGCONT');
    }
    const awakeMs = performance.now();
    await world.whole();
    findings.figure('the frozen replica serves again after it woke up', performance.now() - awakeMs, 'ms');
    const { milliseconds, failures, slowestMs } = await pings.stop();
    findings.figure(
      'pings through another link meanwhile',
      `${milliseconds.length}, slowest ${Math.round(slowestMs)} ms`,
    );
    findings.must(failures.length === 0, `pings through another link failed: ${failures.join('; ')}`);

    /** Milliseconds until a connection through this door is there at once. */
    async function relayAgain(door: Replica): Promise<number> {
      const soon = (): Promise<void> =>
        eventually(() => ping(world.way(door)), { timeoutMs: TRY_MS, intervalMs: TRY_MS });
      await eventually(soon, { timeoutMs: 4 * NOTICED_WITHIN_MS });
      return performance.now() - frozenMs;
    }
  },
};
