import type { GatewayAddresses, Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { createDoorClient, type DoorClient } from '../support/connect-door.js';
import { isReady, sessionsAt, type SessionView } from '../support/replicas.js';
import { startTcpAgent, type TcpAgent } from '../support/tcp-agent.js';
import { startTcpTarget, type TcpTarget } from '../support/tcp-target.js';
import { showCluster, startTestStack } from '../support/test-stack.js';
import { ping, type Way } from '../support/transfers.js';
import { Journal } from './journal.js';
import type { AnyWorld } from './any-world.js';

export type Replica = GatewayAddresses;

const REPLICAS = ['gateway-a', 'gateway-b', 'gateway-c'] as const;
const LINKS = 2;
export const LEASE_MS = 3_000;
/**
 * What a door finds out by a limit alone (PROTOCOL.md, Limits) does not take minutes here; but longer than a busy machine makes this process
 * stand still, which is client and target at once. Balancers look often.
 */
const GATEWAY_ENV = {
  FAIRLEAD_CONNECT_STALL_SECONDS: '10',
  FAIRLEAD_DOOR_GRACE_SECONDS: '1',
};
/** The slowest way back: an agent that waits its longest backoff, and a machine that is busy. */
const WHOLE_TIMEOUT_MS = 90_000;

/**
 * Three replicas, two clusters whose agents keep links to two of them each, a TCP target that both reach, and a client
 * that may reach both. So every replica is a door, two of them have a link, and the third relays.
 */
export interface World extends AnyWorld {
  readonly stack: Stack;
  readonly replicas: readonly Replica[];
  readonly client: DoorClient;
  readonly target: TcpTarget;
  /** Its traffic is what a scenario disturbs. */
  readonly agent: TcpAgent;
  /** Its traffic must not notice. */
  readonly neighbour: TcpAgent;
  /** What the replicas log. */
  readonly journal: Journal;
  way(replica: Replica, agent?: TcpAgent): Way;
  /** Links of an agent's cluster at a replica. Rejects if the replica does not answer. */
  linksAt(replica: Replica, agent?: TcpAgent): Promise<readonly SessionView[]>;
  /** Replicas that have a link of the agent, and those that have none. */
  roles(agent?: TcpAgent): Promise<{ holders: Replica[]; others: Replica[] }>;
  /** Resolves when every replica runs, both agents have their links, and every door leads to both. */
  whole(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  await using starting = new AsyncDisposableStack();
  const target = starting.use(await startTcpTarget());
  const journal = new Journal();
  const options = {
    demo: false,
    gateways: REPLICAS,
    leaseSeconds: LEASE_MS / 1_000,
    env: { gateway: GATEWAY_ENV },
    log: journal.hear,
  };
  const { stack } = starting.use(await startTestStack(options));
  const targets = [target.address];
  const agentOf = async (cluster: string): Promise<TcpAgent> =>
    starting.use(await startTcpAgent(stack, { cluster, links: LINKS, targets }));
  const agent = await agentOf('main');
  const neighbour = await agentOf('neighbour');
  const client = starting.use(await createDoorClient(stack, 'chaos', ['main', 'neighbour']));
  const ids = new Map<string, string>();
  for (const { cluster } of [agent, neighbour]) ids.set(cluster, (await showCluster(stack, cluster)).id);
  const owned = starting.move();
  const world: World = {
    stack,
    replicas: stack.gateways,
    client,
    target,
    agent,
    neighbour,
    journal,
    way: ({ connectUrl }, { cluster } = agent) => ({ connectUrl, client, target, cluster }),
    linksAt: async (replica, { cluster } = agent) =>
      (await sessionsAt(replica)).filter(({ clusterId }) => clusterId === ids.get(cluster)),
    roles: async (of = agent) => {
      const held = await Promise.all(world.replicas.map((replica) => world.linksAt(replica, of)));
      return {
        holders: world.replicas.filter((_, index) => held[index]?.length !== 0),
        others: world.replicas.filter((_, index) => held[index]?.length === 0),
      };
    },
    whole: () => eventually(() => requireWhole(world), { timeoutMs: WHOLE_TIMEOUT_MS, intervalMs: 100 }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  await world.whole();
  return world;
}

async function requireWhole(world: World): Promise<void> {
  for (const replica of world.replicas) {
    if (!(await isReady(replica))) throw new Error(`${replica.name} is not ready`);
  }
  for (const agent of [world.agent, world.neighbour]) {
    const { holders } = await world.roles(agent);
    if (holders.length !== LINKS) throw new Error(`${agent.cluster} has ${holders.length} links`);
  }
  for (const replica of world.replicas) {
    for (const agent of [world.agent, world.neighbour]) await ping(world.way(replica, agent));
  }
}
