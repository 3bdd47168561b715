import { eventually } from '@fairlead/testing';
import { relayedIn, metricOf } from '../../support/replicas.js';
import { ping } from '../../support/transfers.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import type { Replica, World } from '../world.js';

const TRIES = 10;
const TUNNELS = 'fairlead_gateway_tunnels_total';

/**
 * While NATS is cut off, the agent leaves one of its two replicas. The third still believes that both hold a link, and
 * asks the wrong one first: it is refused there (NO_SESSION), and the next owner is asked; the client notices nothing.
 */
export const staleRoute: Scenario = {
  letter: 'c4',
  title: 'a stale route',
  async run(world, _sizes, findings) {
    const { holders, others } = await world.roles();
    const relay = others[0] as Replica;
    const nats = world.stack.process('nats');
    nats.kill('SIGSTOP');
    try {
      const preferred = await firstChoice(world, relay, holders);
      const rest = holders.filter((holder) => holder !== preferred);
      // Which one comes first may change while they fall silent; then the other one is to be the wrong one.
      let refused = 0;
      for (const stays of [...rest, preferred]) {
        if (refused === 0) refused = await askWhileStale(world, { relay, holders, stays }, findings);
      }
      findings.figure('probes of the replica that has no link any more', refused);
      findings.must(refused > 0, 'the stale route was not asked: the scenario shows nothing');
      findings.must(refused < TRIES, 'an owner that failed its probe is still asked first');
    } finally {
      nats.kill('SIGCONT');
      await world.agent.restart();
    }
  },
};

interface Stale {
  readonly relay: Replica;
  readonly holders: readonly Replica[];
  readonly stays: Replica;
}

/** Leaves the agent with a link to one replica, and asks the relay; resolves with how often that asked the wrong one. */
async function askWhileStale(world: World, { relay, holders, stays }: Stale, findings: Findings): Promise<number> {
  await world.agent.restart({ FAIRLEAD_ENDPOINTS: stays.linkAddress, FAIRLEAD_LINKS: '1' });
  const left = holders.filter((holder) => holder !== stays);
  await eventually(async () => {
    const links = (await Promise.all(left.map((each) => world.linksAt(each)))).flat();
    if (links.length > 0) throw new Error('the replica that the agent left still has a link: nothing is stale');
  });
  const before = await metricOf(relay.healthUrl, TUNNELS, 'outcome="NO_SESSION"');
  const failures: string[] = [];
  for (let index = 0; index < TRIES; index += 1) {
    await ping(world.way(relay)).catch((error: unknown) => failures.push(String(error)));
  }
  findings.figure(
    `connections through the stale door, with a link at ${stays.name}`,
    `${TRIES - failures.length} of ${TRIES}`,
  );
  findings.must(failures.length === 0, `connections failed: ${failures.join('; ')}`);
  return (await metricOf(relay.healthUrl, TUNNELS, 'outcome="NO_SESSION"')) - before;
}

/** The holder that this replica's next connection goes to. */
async function firstChoice(world: World, relay: Replica, holders: readonly Replica[]): Promise<Replica> {
  const before = await Promise.all(holders.map((holder) => relayedIn(holder)));
  await ping(world.way(relay));
  const after = await Promise.all(holders.map((holder) => relayedIn(holder)));
  const chosen = holders.find((_, index) => (after[index] ?? 0) > (before[index] ?? 0));
  if (!chosen) throw new Error(`${relay.name} relayed nothing`);
  return chosen;
}
