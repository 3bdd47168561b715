import type { GatewayAddresses, Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import type { AnyWorld } from '../chaos/any-world.js';
import { createDoorClient } from '../support/connect-door.js';
import { usageOf } from '../support/proc.js';
import { isReady, metricOf, pidOf } from '../support/replicas.js';
import { startTcpAgent } from '../support/tcp-agent.js';
import { startTcpTarget } from '../support/tcp-target.js';
import { startTestStack } from '../support/test-stack.js';
import { ping, type Way } from '../support/transfers.js';
import type { Port } from './kinds.js';

const CLUSTER = 'main';
const WHOLE_TIMEOUT_MS = 90_000;

/** One replica, a cluster with an agent, and a user of it. Who floods comes from the same address as both. */
export interface FloodWorld extends AnyWorld {
  readonly way: Way;
  addressOf(port: Port): { readonly host: string; readonly port: number };
  /** Of the replica's process, MB. Throws where there is no /proc. */
  residentMb(): number;
  /** Connections that the replica ended for what they did, all told. */
  ended(): Promise<number>;
}

export async function startFloodWorld(): Promise<FloodWorld> {
  await using starting = new AsyncDisposableStack();
  const target = starting.use(await startTcpTarget());
  const { stack } = starting.use(await startTestStack({ demo: false, gateways: ['gateway-a'] }));
  starting.use(await startTcpAgent(stack, { cluster: CLUSTER, links: 1, targets: [target.address] }));
  const client = starting.use(await createDoorClient(stack, 'flood', [CLUSTER]));
  const [gateway] = stack.gateways;
  if (!gateway) throw new Error('the stack has no gateway');
  const way: Way = { connectUrl: gateway.connectUrl, client, target, cluster: CLUSTER };
  const owned = starting.move();
  const world: FloodWorld = {
    way,
    addressOf: (port) => addressOf(gateway, port),
    residentMb: () => residentMb(stack, gateway),
    ended: () => metricOf(gateway.healthUrl, 'fairlead_gateway_http2_abuse_total'),
    whole: () => eventually(() => requireWhole(gateway, way), { timeoutMs: WHOLE_TIMEOUT_MS, intervalMs: 100 }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  await world.whole();
  return world;
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

function residentMb(stack: Stack, gateway: GatewayAddresses): number {
  const usage = usageOf(pidOf(stack, gateway));
  if (!usage) throw new Error('what a process holds is measured on Linux alone');
  return usage.residentMb;
}

async function requireWhole(gateway: GatewayAddresses, way: Way): Promise<void> {
  if (!(await isReady(gateway))) throw new Error(`${gateway.name} is not ready`);
  await ping(way);
}
