import { systemClock } from '@fairlead/clock';
import { BenchError } from '../process/bench-error.js';
import { residentKb } from '../process/memory.js';
import type { Measurement } from './measurement.js';

const SETTLE_MS = 2_000;

/** What a link that does nothing costs the gateway. */
export const IDLE_AGENTS: Measurement = {
  rows: ['mem_idle_agent_kb'],
  systems: ['konnectivity', 'fairlead'],
  async run({ system, scale, signal, renew }) {
    const { idleAgents: count } = scale;
    const idle = await system.idleAgents?.(count);
    if (!idle) throw new BenchError('it has no agents');
    // The first time they enrol, which is not what is measured.
    await idle.link();
    await idle.unlink();
    await renew();
    const beforeKb = await residentKb(system.pids('gateway'));
    await idle.link();
    await systemClock.sleep(SETTLE_MS, signal);
    const afterKb = await residentKb(system.pids('gateway'));
    await idle.unlink();
    return { mem_idle_agent_kb: { value: (afterKb - beforeKb) / count } };
  },
};
