import { pidOf } from '../../support/replicas.js';
import { ping } from '../../support/transfers.js';
import type { Scenario } from '../scenario.js';
import type { Findings } from '../findings.js';
import type { Replica, World } from '../world.js';
import { holdTransfers, tally } from './held-transfers.js';

const NEW_ONES = 20;

/** Replicas with links are killed and added back, one after the other, while transfers run through all three. */
export const killedReplicas: Scenario = {
  letter: 'a',
  title: 'replicas killed and added while transfers run',
  async run(world, { transfers, kills }, findings) {
    findings.figure('transfers at once', transfers);
    let returned: Replica | undefined;
    for (let round = 0; round < kills; round += 1) {
      await world.whole();
      const { holders } = await world.roles();
      // Not the one that a link has just moved to: then the next link has to move to the one that came back.
      const victim = holders.find((holder) => holder !== returned) as Replica;
      await killOne(world, victim, { group: `killed-${round}`, transfers }, findings);
      if (returned) {
        const linked = (await world.roles()).holders.includes(returned);
        findings.must(linked, `${returned.name} came back and got no link when the next replica was killed`);
      }
      returned = victim;
    }
  },
};

async function killOne(
  world: World,
  victim: Replica,
  { group, transfers: count }: { readonly group: string; readonly transfers: number },
  findings: Findings,
): Promise<void> {
  const { transfers, relayedTo, release } = await holdTransfers(world, group, count);
  const process = world.stack.process(victim.name);
  const killedMs = performance.now();
  const relinkedMs = world.agent.nextEvent('link.established', 60_000).then(() => performance.now() - killedMs);
  void Promise.allSettled([relinkedMs]);
  process.kill('SIGKILL');
  await process.exited;
  const living = world.replicas.filter((replica) => replica !== victim);
  const failures = await tryNewOnes(world, living);
  const newOnesMs = performance.now() - killedMs;
  await release();
  const through = await tally(transfers.filter(({ door }) => door === victim));
  const others = await tally(transfers.filter(({ door }) => door !== victim));
  const brokenOthers = others.told + others.cut;
  const relayed = relayedTo.get(victim) ?? 0;
  findings.figure(
    `${group}: broken`,
    `${through.told + through.cut} through its door, ${brokenOthers} of ${relayed} relayed to it`,
  );
  findings.figure(`${group}: whole`, others.whole);
  findings.figure(`${group}: ${NEW_ONES} new connections through the living doors, all done after`, newOnesMs, 'ms');
  findings.must(
    failures.length === 0,
    `${group}: new connections failed at once after the kill: ${failures.join('; ')}`,
  );
  findings.must(through.wrong + others.wrong === 0, `${group}: a hash differs`);
  findings.must(
    others.told + others.cut === relayed,
    `${group}: ${brokenOthers} broke elsewhere, but ${relayed} crossed it`,
  );
  findings.must(others.told === brokenOthers, `${group}: ${others.cut} ended early without an error`);
  findings.figure(`${group}: the agent has two links again after`, await relinkedMs, 'ms');
  await process.restart();
  await world.whole();
  findings.must(pidOf(world.stack, victim) > 0, `${victim.name} did not come back`);
  const back = await tryNewOnes(world, [victim]);
  findings.must(
    back.length === 0,
    `${group}: connections through the replica that came back failed: ${back.join('; ')}`,
  );
}

/** Opens connections through these doors in turn, all at once, each with one try; resolves with what failed. */
async function tryNewOnes(world: World, doors: readonly Replica[]): Promise<string[]> {
  const tries = Array.from({ length: NEW_ONES }, (_, index) => ping(world.way(doors[index % doors.length] as Replica)));
  const results = await Promise.allSettled(tries);
  return results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
}
