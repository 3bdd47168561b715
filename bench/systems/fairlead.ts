import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type GatewayAddresses, type Stack } from '@fairlead/stack';
import { startAgent } from './agent.js';
import { createDoorClient } from './door-client.js';
import { startIdleAgents } from './idle-agents.js';
import { inviteCluster } from './invitation.js';
import { LOCAL, type Leg } from './leg.js';
import type { IdleAgents, System } from './system.js';
import type { Target } from './target.js';
import { throughGateways, type JoinedCluster } from './through-gateways.js';

export interface FairleadOptions {
  readonly target: Target;
  /** Where there is also an agent far away: its leg and the target beside it. */
  readonly far: { readonly leg: Leg; readonly target: Target } | undefined;
  /** A folder for everything it keeps. */
  readonly dir: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A whole installation with two gateways. Everything runs as it does for users; nothing is tuned for the benchmark. */
export async function startInstallation(options: FairleadOptions, owned: AsyncDisposableStack): Promise<Stack> {
  const { dir, far, say, signal } = options;
  // Postgres may run as a user of its own: it passes through.
  await chmod(dir, 0o711);
  return owned.use(
    await startStack({
      stateDir: join(dir, 'state'),
      basePort: 0,
      demo: false,
      restart: false,
      ...(far ? { advertise: far.leg.gatewayHost } : {}),
      signal,
      log: (event) => {
        if (event.kind === 'progress') say(event.text);
      },
    }),
  );
}

/** Fairlead by its near agent, and by the far one. */
export interface FairleadSystems {
  readonly near: System[];
  readonly far: System[];
}

/**
 * One agent with one link to the first gateway: reached through that one, and through the other one. And, once it is asked
 * for, a second agent that is linked to both; and one far away, linked to the first gateway.
 */
export async function startFairlead(options: FairleadOptions, owned: AsyncDisposableStack): Promise<FairleadSystems> {
  const stack = await startInstallation(options, owned);
  options.say('joining the cluster and starting its agent');
  const [first, second] = stack.gateways as [GatewayAddresses, GatewayAddresses];
  const { target, far } = options;
  const joined = (cluster: ClusterOptions): Promise<JoinedCluster> => joinCluster(stack, cluster, options, owned);
  const one = await joined({ name: 'bench', gateways: [first], leg: LOCAL, target });
  let linked: Promise<System> | undefined;
  const withTwoLinks = (): Promise<System> =>
    (linked ??= joined({ name: 'bench-two', gateways: [first, second], leg: LOCAL, target }).then((two) =>
      throughGateways(two, { name: 'fairlead', door: second, gateways: [first] }),
    ));
  let idle: Promise<IdleAgents> | undefined;
  const idleAgents = (count: number): Promise<IdleAgents> =>
    (idle ??= startIdleAgents(stack, first.linkAddress, count, options.dir, owned));
  const distant = far && (await joined({ name: 'bench-far', gateways: [first], ...far }));
  return {
    near: [
      { ...throughGateways(one, { name: 'fairlead', door: first, gateways: [first] }), withTwoLinks, idleAgents },
      throughGateways(one, { name: 'fairlead-relayed', door: second, gateways: [second, first] }),
    ],
    far: distant ? [throughGateways(distant, { name: 'fairlead', door: first, gateways: [first] })] : [],
  };
}

interface ClusterOptions {
  readonly name: string;
  /** What its agent is linked to. */
  readonly gateways: readonly GatewayAddresses[];
  readonly leg: Leg;
  readonly target: Target;
}

/** A cluster, its agent linked to each of these gateways, and a client of it. */
async function joinCluster(
  stack: Stack,
  { name, gateways, leg, target }: ClusterOptions,
  { dir, signal }: FairleadOptions,
  owned: AsyncDisposableStack,
): Promise<JoinedCluster> {
  const links = gateways.length;
  const invitation = await inviteCluster(stack, name, links, leg.agentHost);
  const endpoints = gateways.map(({ linkAddress }) => `${leg.gatewayHost}:${linkAddress.split(':').at(-1)}`);
  const agent = await startAgent({ invitation, leg, endpoints, links, dir: join(dir, `agent-${name}`), signal }, owned);
  const client = await createDoorClient(stack, name, name, join(dir, `client-${name}`));
  return { stack, agent, client, target };
}
