import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type GatewayAddresses, type Stack } from '@fairlead/stack';
import { startAgent } from './agent.js';
import { createDoorClient } from './door-client.js';
import { inviteCluster } from './invitation.js';
import type { System } from './system.js';
import type { Target } from './target.js';
import { throughGateways, type JoinedCluster } from './through-gateways.js';

export interface FairleadOptions {
  readonly target: Target;
  /** A folder for everything it keeps. */
  readonly dir: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A whole installation with two gateways. Everything runs as it does for users; nothing is tuned for the benchmark. */
export async function startInstallation(options: FairleadOptions, owned: AsyncDisposableStack): Promise<Stack> {
  const { dir, say, signal } = options;
  // Postgres may run as a user of its own: it passes through.
  await chmod(dir, 0o711);
  return owned.use(
    await startStack({
      stateDir: join(dir, 'state'),
      basePort: 0,
      demo: false,
      restart: false,
      signal,
      log: (event) => {
        if (event.kind === 'progress') say(event.text);
      },
    }),
  );
}

/**
 * One agent with one link to the first gateway: reached through that one, and through the other one. And, once it is asked
 * for, a second agent that is linked to both.
 */
export async function startFairlead(options: FairleadOptions, owned: AsyncDisposableStack): Promise<System[]> {
  const stack = await startInstallation(options, owned);
  options.say('joining the cluster and starting its agent');
  const [first, second] = stack.gateways as [GatewayAddresses, GatewayAddresses];
  const one = await joinCluster(stack, 'bench', [first], options, owned);
  let linked: Promise<System> | undefined;
  const withTwoLinks = (): Promise<System> =>
    (linked ??= joinCluster(stack, 'bench-two', [first, second], options, owned).then((two) =>
      throughGateways(two, { name: 'fairlead', door: second, gateways: [first] }),
    ));
  return [
    { ...throughGateways(one, { name: 'fairlead', door: first, gateways: [first] }), withTwoLinks },
    throughGateways(one, { name: 'fairlead-relayed', door: second, gateways: [second, first] }),
  ];
}

/** A cluster, its agent linked to each of these gateways, and a client of it. */
async function joinCluster(
  stack: Stack,
  cluster: string,
  gateways: readonly GatewayAddresses[],
  { dir, target, signal }: FairleadOptions,
  owned: AsyncDisposableStack,
): Promise<JoinedCluster> {
  const links = gateways.length;
  const invitation = await inviteCluster(stack, cluster, links);
  const endpoints = gateways.map(({ linkAddress }) => linkAddress);
  const agent = await startAgent({ invitation, endpoints, links, dir: join(dir, `agent-${cluster}`), signal }, owned);
  const client = await createDoorClient(stack, cluster, cluster, join(dir, `client-${cluster}`));
  return { stack, agent, client, target };
}
