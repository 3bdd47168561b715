import { eventually } from '@fairlead/testing';
import { dial, ping, Refused, roundTrip } from '../../support/transfers.js';
import type { Scenario } from '../scenario.js';
import { Pings } from './pings.js';

/** PROTOCOL.md, Keepalive: 5 s to the next ping and 8 s for its answer; the requirement is 15 s. */
const NOTICED_WITHIN_MS = 15_000;
const TOLD_WITHIN_MS = 30_000;
const BACK_WITHIN_MS = 60_000;

/** An agent's process is frozen, and wakes up later. */
export const frozenAgent: Scenario = {
  letter: 'c1',
  title: 'agent SIGSTOP',
  async run(world, _sizes, findings) {
    const standing = await Promise.all(world.replicas.map((replica) => dial(world.way(replica))));
    for (const socket of standing) socket.write('echo standing 0\n');
    await Promise.all(standing.map((socket) => roundTrip(socket)));
    const neighbours = await Pings.start(world.replicas.map((replica) => world.way(replica, world.neighbour)));
    const frozenMs = performance.now();
    world.agent.kill('SIGSTOP');
    try {
      const told = standing.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
      await eventually(
        async () => {
          const { holders } = await world.roles();
          if (holders.length > 0) throw new Error(`${holders.map(({ name }) => name).join(', ')} still count on it`);
        },
        { timeoutMs: 4 * NOTICED_WITHIN_MS },
      );
      const noticedMs = performance.now() - frozenMs;
      findings.figure('noticed by every replica after', noticedMs, 'ms');
      findings.mustInTime(noticedMs <= NOTICED_WITHIN_MS, `it was noticed after ${Math.round(noticedMs)} ms only`);
      await eventually(() => Promise.all(told), { timeoutMs: TOLD_WITHIN_MS });
      const refusals = await Promise.all(world.replicas.map((replica) => refusalOf(() => ping(world.way(replica)))));
      findings.figure('a new connection then', [...new Set(refusals)].join(', '));
      findings.must(
        refusals.every((text) => text.startsWith('503')),
        `not refused with 503: ${refusals.join(', ')}`,
      );
    } finally {
      world.agent.kill('SIGCONT');
    }
    const awakeMs = performance.now();
    await eventually(() => Promise.all(world.replicas.map((each) => ping(world.way(each)))), {
      timeoutMs: BACK_WITHIN_MS,
    });
    findings.figure('reachable again after it woke up', performance.now() - awakeMs, 'ms');
    const { milliseconds, failures, slowestMs } = await neighbours.stop();
    findings.figure("the neighbour's pings meanwhile", `${milliseconds.length}, slowest ${Math.round(slowestMs)} ms`);
    findings.must(failures.length === 0, `the neighbour's pings failed: ${failures.join('; ')}`);
  },
};

async function refusalOf(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
    return 'not refused';
  } catch (error) {
    return error instanceof Refused ? `${error.status} ${error.reason ?? ''}` : String(error);
  }
}
