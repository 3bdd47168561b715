import { setTimeout as sleep } from 'node:timers/promises';
import { ping } from '../../support/transfers.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import { LEASE_MS, type World } from '../world.js';
import { holdTransfers, tally } from './held-transfers.js';

const TRANSFERS = 12;
const NEW_ONES_PER_DOOR = 5;
/** Longer than a lease: no route may go because its owner was not heard. */
const AWAY_MS = 2 * LEASE_MS;

/** nats-server is killed, and then cut off (frozen: connections stand and nothing comes), while traffic goes on. */
export const busAway: Scenario = {
  letter: 'c3',
  title: 'NATS killed, and partitioned',
  async run(world, _sizes, findings) {
    const nats = world.stack.process('nats');
    await during(world, 'killed', findings, async () => {
      nats.kill('SIGKILL');
      await nats.exited;
      return () => nats.restart();
    });
    await during(world, 'partitioned', findings, () => {
      nats.kill('SIGSTOP');
      return Promise.resolve(() => Promise.resolve(nats.kill('SIGCONT')));
    });
  },
};

async function during(
  world: World,
  what: string,
  findings: Findings,
  takeAway: () => Promise<() => Promise<void>>,
): Promise<void> {
  const { transfers, release } = await holdTransfers(world, `bus-${what}`, TRANSFERS);
  const giveBack = await takeAway();
  try {
    await requireAllDoors(world, `${what}, at once`, findings);
    await sleep(AWAY_MS);
    await requireAllDoors(world, `${what}, after ${AWAY_MS / LEASE_MS} leases`, findings);
    await release();
    const counts = await tally(transfers);
    findings.figure(`${what}: transfers whole`, `${counts.whole} of ${TRANSFERS}`);
    findings.must(counts.whole === TRANSFERS, `${what}: transfers ended as ${JSON.stringify(counts)}`);
  } finally {
    await giveBack();
  }
  await requireAllDoors(world, `${what}, when it is back`, findings);
  await world.whole();
}

async function requireAllDoors(world: World, when: string, findings: Findings): Promise<void> {
  const tries = world.replicas.flatMap((replica) =>
    Array.from({ length: NEW_ONES_PER_DOOR }, () => ping(world.way(replica))),
  );
  const failed = (await Promise.allSettled(tries)).flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  findings.figure(`${when}: new connections`, `${tries.length - failed.length} of ${tries.length}`);
  findings.must(failed.length === 0, `${when}: new connections failed: ${[...new Set(failed.map(String))].join('; ')}`);
}
