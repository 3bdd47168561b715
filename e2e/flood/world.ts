import type { GatewayAddresses, Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import type { AnyWorld } from '../chaos/any-world.js';
import { createDoorClient } from '../support/connect-door.js';
import { usageOf, type ProcessUsage } from '../support/proc.js';
import { isReady, metricOf, pidOf, sessionsAt } from '../support/replicas.js';
import { startTcpAgent } from '../support/tcp-agent.js';
import { startTcpTarget } from '../support/tcp-target.js';
import { startTestStack } from '../support/test-stack.js';
import { ping, type Way } from '../support/transfers.js';
import { IdleFigures } from './idle.js';
import type { Port } from './kinds.js';

const CLUSTER = 'main';
const WHOLE_TIMEOUT_MS = 90_000;

/** One replica that is flooded, and a user of the cluster that comes through it. */
export interface FloodedReplica {
  readonly name: string;
  readonly way: Way;
  addressOf(port: Port): { readonly host: string; readonly port: number };
  /** Of the replica's process, MB. Throws where there is no /proc. */
  residentMb(): number;
  /** What the replica's process has used of the CPU, all told. Throws where there is no /proc. */
  cpuSeconds(): number;
  /** Connections that the replica ended for what they did, all told. */
  ended(): Promise<number>;
  /** What its user waits while nobody floods. */
  readonly idle: IdleFigures;
}

/** Replicas, a cluster with an agent that is linked to each of them, and a user of it. Who floods comes from the same address as all of these. */
export interface FloodWorld extends AnyWorld {
  /** A replica that nobody floods or watches, for as long as `work` takes. There is one for each lane of a soak. */
  withReplica<T>(work: (replica: FloodedReplica) => Promise<T>): Promise<T>;
  /** While `work` goes on nobody else floods: the machine is for one flood at a time. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export async function startFloodWorld(replicas = 1): Promise<FloodWorld> {
  await using starting = new AsyncDisposableStack();
  const target = starting.use(await startTcpTarget());
  const names = Array.from({ length: replicas }, (_, index) => `gateway-${String.fromCodePoint(97 + index)}`);
  const { stack } = starting.use(await startTestStack({ demo: false, gateways: names }));
  starting.use(await startTcpAgent(stack, { cluster: CLUSTER, links: replicas, targets: [target.address] }));
  const client = starting.use(await createDoorClient(stack, 'flood', [CLUSTER]));
  const free = stack.gateways.map((gateway) =>
    floodedReplica(stack, gateway, { connectUrl: gateway.connectUrl, client, target, cluster: CLUSTER }),
  );
  const ways = free.map(({ way }) => way);
  const alone = inTurn();
  const whole = (): Promise<void> =>
    eventually(() => requireWhole(stack.gateways, ways), { timeoutMs: WHOLE_TIMEOUT_MS, intervalMs: 100 });
  await whole();
  const owned = starting.move();
  return {
    alone,
    whole: () => alone(whole),
    withReplica: async (work) => {
      const replica = free.shift();
      if (!replica) throw new Error('more floods go on at once than there are replicas');
      try {
        return await work(replica);
      } finally {
        free.push(replica);
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function floodedReplica(stack: Stack, gateway: GatewayAddresses, way: Way): FloodedReplica {
  return {
    name: gateway.name,
    way,
    addressOf: (port) => addressOf(gateway, port),
    residentMb: () => usage(stack, gateway).residentMb,
    cpuSeconds: () => usage(stack, gateway).cpuSeconds,
    ended: () => metricOf(gateway.healthUrl, 'fairlead_gateway_http2_abuse_total'),
    idle: new IdleFigures(way),
  };
}

/** Runs one piece of work after the other. */
function inTurn(): FloodWorld['alone'] {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  };
}

function addressOf(gateway: GatewayAddresses, port: Port): { readonly host: string; readonly port: number } {
  const { linkAddress, relayAddress, doorUrl, connectUrl } = gateway;
  const urls = {
    link: `tls://${linkAddress}`,
    relay: `tls://${relayAddress}`,
    'kube-api': doorUrl,
    connect: connectUrl,
  };
  const url = new URL(urls[port]);
  return { host: url.hostname, port: Number(url.port) };
}

function usage(stack: Stack, gateway: GatewayAddresses): ProcessUsage {
  const found = usageOf(pidOf(stack, gateway));
  if (!found) throw new Error('what a process holds is measured on Linux alone');
  return found;
}

async function requireWhole(gateways: readonly GatewayAddresses[], ways: readonly Way[]): Promise<void> {
  for (const gateway of gateways) {
    if (!(await isReady(gateway))) throw new Error(`${gateway.name} is not ready`);
    // Else its user's bytes would go through another one.
    if ((await sessionsAt(gateway)).length === 0) throw new Error(`the agent has no link to ${gateway.name}`);
  }
  for (const way of ways) await ping(way);
}
