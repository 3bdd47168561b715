import { metricOf } from '../../support/replicas.js';
import { dial, exchangePayloads } from '../../support/transfers.js';
import type { Scenario } from '../scenario.js';
import type { Replica } from '../world.js';

const CONNECTIONS = 16;
const BYTES = 4_000_000;

/** Connections that each send and receive at the same time, over one link: its session is full in both directions. */
export const duplex: Scenario = {
  letter: 'h',
  title: 'one link full in both directions',
  async run(world, _sizes, findings) {
    const { holders } = await world.roles();
    const door = holders[0] as Replica;
    const startedMs = performance.now();
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => dial(world.way(door))));
    const outcomes = await Promise.all(
      sockets.map((socket, index) => exchangePayloads(socket, `duplex/${index}`, BYTES)),
    );
    const whole = outcomes.filter((outcome) => outcome === 'whole').length;
    findings.figure(`connections that each sent and received ${BYTES / 1e6} MB, whole`, `${whole} of ${CONNECTIONS}`);
    findings.figure('all of it took', performance.now() - startedMs, 'ms');
    findings.must(whole === CONNECTIONS, `they ended as ${JSON.stringify(outcomes)}`);
    const open = await metricOf(door.healthUrl, 'fairlead_gateway_open_connections');
    findings.figure('connections left open', open);
  },
};
