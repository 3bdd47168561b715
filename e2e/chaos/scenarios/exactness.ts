import { runAll } from '../../support/pool.js';
import { metricOf } from '../../support/replicas.js';
import { deliverPayload, dial, fetchPayload, type Outcome, type Way } from '../../support/transfers.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import type { Replica } from '../world.js';

const TAIL_BYTES = 5_000_000;
const ANSWER_BYTES = 1_000_000;
const AT_ONCE = 4;
const SLOW_READ_MS = 2;

interface Kind {
  readonly what: string;
  run(way: Way, name: string): Promise<Outcome>;
}

const KINDS: readonly Kind[] = [
  {
    what: '5 MB and at once the end, to a fast reader',
    run: async (way, name) => fetchPayload(await dial(way), 'send', name, TAIL_BYTES),
  },
  {
    what: '5 MB and at once the end, to a slow reader',
    run: async (way, name) => fetchPayload(await dial(way), 'send', name, TAIL_BYTES, { pauseMs: SLOW_READ_MS }),
  },
  {
    what: '5 MB up and at once the end, to a fast target',
    run: async (way, name) => deliverPayload(await dial(way), 'receive', name, TAIL_BYTES),
  },
  {
    what: '5 MB up and at once the end, to a slow target',
    run: async (way, name) => deliverPayload(await dial(way), 'receive-slowly', name, TAIL_BYTES),
  },
  {
    what: '1 MB after half-close, to a fast reader',
    run: async (way, name) => fetchPayload(await dial(way), 'answer', name, ANSWER_BYTES),
  },
  {
    what: '1 MB after half-close, to a slow reader',
    run: async (way, name) => fetchPayload(await dial(way), 'answer', name, ANSWER_BYTES, { pauseMs: SLOW_READ_MS }),
  },
];

/** Write-then-close and half-close, in all directions, over an own session and over the relay: every byte, every time. */
export const exactness: Scenario = {
  letter: 'e',
  title: 'write-then-close and half-close, exactly',
  async run(world, { exact }, findings) {
    const { holders, others } = await world.roles();
    const ways: readonly (readonly [string, Replica])[] = [
      ['own session', holders[0] as Replica],
      ['relay', others[0] as Replica],
    ];
    for (const [by, replica] of ways) {
      const before = await metricOf(replica.healthUrl, 'fairlead_gateway_relayed_tunnels_total', 'direction="out"');
      for (const kind of KINDS) await repeat(kind, world.way(replica), by, exact, findings);
      const after = await metricOf(replica.healthUrl, 'fairlead_gateway_relayed_tunnels_total', 'direction="out"');
      const relayed = after - before;
      const expected = by === 'relay' ? KINDS.length * exact : 0;
      findings.must(relayed === expected, `${by}: ${relayed} transfers were relayed, not ${expected}`);
    }
  },
};

async function repeat(kind: Kind, way: Way, by: string, count: number, findings: Findings): Promise<void> {
  const outcomes: Record<string, number> = {};
  await runAll(count, AT_ONCE, async (index) => {
    findings.doing = `${by}: ${kind.what}: ${index} of ${count}`;
    const outcome = await kind.run(way, `exact-${by.at(0)}/${index}`).catch((error: unknown) => String(error));
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  });
  findings.figure(`${by}: ${kind.what}`, `${outcomes['whole'] ?? 0} of ${count}`);
  findings.must(outcomes['whole'] === count, `${by}: ${kind.what}: ${JSON.stringify(outcomes)}`);
}
