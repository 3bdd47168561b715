import type { GatewayAddresses, Stack, StackProcess } from '@fairlead/stack';
import { BenchError } from '../process/bench-error.js';
import type { Program } from '../process/program.js';
import type { SystemName } from '../rows.js';
import type { DoorClient } from './door-client.js';
import type { System } from './system.js';
import type { Target } from './target.js';

/** A cluster with its agent, and who may reach it. */
export interface JoinedCluster {
  readonly stack: Stack;
  readonly agent: Program;
  readonly client: DoorClient;
  readonly target: Target;
}

export interface Through {
  readonly name: SystemName;
  readonly door: GatewayAddresses;
  /** Those that count as the system's part `gateway`. */
  readonly gateways: readonly GatewayAddresses[];
}

/** Fairlead as one more way to the target, entered by one gateway's CONNECT door. */
export function throughGateways(cluster: JoinedCluster, { name, door, gateways }: Through): System {
  const { stack, agent, client, target } = cluster;
  const processes = gateways.map((gateway) => stack.process(gateway.name));
  return {
    name,
    entrance: {
      way: { address: new URL(door.connectUrl).host, ...client, connect: true },
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

export function runningPid({ name, pid }: StackProcess): number {
  if (pid === undefined) throw new BenchError(`${name} does not run`);
  return pid;
}

export async function killed(process: StackProcess): Promise<void> {
  if (process.pid === undefined) return;
  process.kill('SIGKILL');
  await process.exited;
}
