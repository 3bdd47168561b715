import { metricOf, sessionsAt } from '../../support/replicas.js';
import type { World } from '../world.js';

/** Throws unless nothing is in flight, by the processes' own word and by the target's. */
export async function requireQuiet(world: World): Promise<void> {
  const inFlight = (await Promise.all(world.replicas.map((replica) => sessionsAt(replica)))).flat();
  const busy = inFlight.reduce((sum, session) => sum + session.inFlight, 0);
  const open = await Promise.all(
    world.replicas.map(({ healthUrl }) => metricOf(healthUrl, 'fairlead_gateway_open_connections')),
  );
  const dialled = await metricOf(world.agent.healthUrl, 'fairlead_agent_tcp_open_connections');
  const left = {
    tunnels: busy,
    doors: open.reduce((sum, each) => sum + each, 0),
    dialled,
    target: world.target.openConnections,
  };
  if (Object.values(left).some((value) => value !== 0)) throw new Error(`still in flight: ${JSON.stringify(left)}`);
}
