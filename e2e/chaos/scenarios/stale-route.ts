import { relayedIn, metricOf } from '../../support/replicas.js';
import { ping } from '../../support/transfers.js';
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
    const preferred = await firstChoice(world, relay, holders);
    const stays = holders.find((holder) => holder !== preferred) as Replica;
    const nats = world.stack.process('nats');
    nats.kill('SIGSTOP');
    try {
      await world.agent.restart({ FAIRLEAD_ENDPOINTS: stays.linkAddress, FAIRLEAD_LINKS: '1' });
      const left = await world.linksAt(preferred);
      findings.must(left.length === 0, `${preferred.name} still has a link: nothing is stale`);
      const before = await metricOf(relay.healthUrl, TUNNELS, 'outcome="NO_SESSION"');
      const failures: string[] = [];
      for (let index = 0; index < TRIES; index += 1) {
        await ping(world.way(relay)).catch((error: unknown) => failures.push(String(error)));
      }
      const refused = (await metricOf(relay.healthUrl, TUNNELS, 'outcome="NO_SESSION"')) - before;
      findings.figure('connections through the stale door', `${TRIES - failures.length} of ${TRIES}`);
      findings.figure('probes of the replica that has no link any more', refused);
      findings.must(failures.length === 0, `connections failed: ${failures.join('; ')}`);
      findings.must(refused > 0, 'the stale route was not asked: the scenario shows nothing');
      findings.must(refused < TRIES, 'an owner that failed its probe is still asked first');
    } finally {
      nats.kill('SIGCONT');
      await world.agent.restart();
    }
  },
};

/** The holder that this replica's next connection goes to. */
async function firstChoice(world: World, relay: Replica, holders: readonly Replica[]): Promise<Replica> {
  const before = await Promise.all(holders.map((holder) => relayedIn(holder)));
  await ping(world.way(relay));
  const after = await Promise.all(holders.map((holder) => relayedIn(holder)));
  const chosen = holders.find((_, index) => (after[index] ?? 0) > (before[index] ?? 0));
  if (!chosen) throw new Error(`${relay.name} relayed nothing`);
  return chosen;
}
