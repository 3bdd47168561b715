import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type GatewayAddresses, type Stack, type StackProcess } from '@fairlead/stack';
import { BenchError } from '../process/bench-error.js';
import type { Program } from '../process/program.js';
import { startAgent } from './agent.js';
import { createDoorClient, type DoorClient } from './door-client.js';
import { inviteCluster } from './invitation.js';
import type { SystemName } from '../rows.js';
import type { System } from './system.js';
import type { Target } from './target.js';

export interface FairleadOptions {
  readonly target: Target;
  /** A folder for everything it keeps. */
  readonly dir: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

const CLUSTER = 'bench';

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

/** One agent with one link to the first gateway: reached through that one, and through the other one. */
export async function startFairlead(options: FairleadOptions, owned: AsyncDisposableStack): Promise<System[]> {
  const { dir, target, say, signal } = options;
  const stack = await startInstallation(options, owned);
  say('joining the cluster and starting its agent');
  const [holder, other] = stack.gateways as [GatewayAddresses, GatewayAddresses];
  const invitation = await inviteCluster(stack, CLUSTER, 1);
  const endpoints = [holder.linkAddress];
  const agent = await startAgent({ invitation, endpoints, links: 1, dir: join(dir, 'agent'), signal }, owned);
  const client = await createDoorClient(stack, 'bench', CLUSTER, join(dir, 'client'));
  const installation = { stack, agent, client, target };
  return [through(installation, 'fairlead', [holder]), through(installation, 'fairlead-relayed', [other, holder])];
}

interface Installation {
  readonly stack: Stack;
  readonly agent: Program;
  readonly client: DoorClient;
  readonly target: Target;
}

/** The door of the first of these gateways; all of them are on the way. */
function through(
  { stack, agent, client, target }: Installation,
  name: SystemName,
  gateways: readonly [GatewayAddresses, ...GatewayAddresses[]],
): System {
  const processes = gateways.map((gateway) => stack.process(gateway.name));
  return {
    name,
    entrance: {
      way: { address: new URL(gateways[0].connectUrl).host, ...client, connect: true },
      target: target.address,
      banner: target.banner,
    },
    pids: (part) => (part === 'agent' ? [agent.pid] : processes.map(runningPid)),
    async kill(part) {
      await (part === 'agent' ? agent.kill() : Promise.all(processes.map(killed)));
    },
    async start(part) {
      await (part === 'agent' ? agent.start() : Promise.all(processes.map((process) => process.restart())));
    },
  };
}

function runningPid({ name, pid }: StackProcess): number {
  if (pid === undefined) throw new BenchError(`${name} does not run`);
  return pid;
}

async function killed(process: StackProcess): Promise<void> {
  if (process.pid === undefined) return;
  process.kill('SIGKILL');
  await process.exited;
}
