import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NO_TENANT, registrationRpc } from '@fairlead/contracts';
import { connectNats, createRpcClient } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { EXIT_WITH_PARENT, NODE_ENVIRONMENT, NODE_FLAGS, REPOSITORY, type Stack } from '@fairlead/stack';
import { runAll } from './pool.js';
import { readInvitation } from './loose-agent.js';

/** One agent of a fleet, as its process is told of it. */
export interface FleetMember {
  readonly id: number;
  readonly endpoints: readonly string[];
  readonly pins: readonly string[];
  readonly token: string;
  readonly links: number;
  readonly caPem: string;
  /** What it opens for raw TCP, as rules. */
  readonly targets: readonly string[];
}

export interface FleetCommand {
  readonly members: readonly FleetMember[];
}

/** A log line of one of them: `link.established`, `link.failed`, `link.lost`, … */
export interface FleetNews {
  readonly id: number;
  readonly event: string;
  /** Wall clock. */
  readonly atMs: number;
  readonly code: string;
  readonly reason: string;
}

/** One process with many agents. */
export interface AgentFleet extends AsyncDisposable {
  readonly pid: number;
  /** Everything said so far, in order. */
  readonly news: readonly FleetNews[];
  /** Registers clusters and lets their agents enrol and link, a bounded number at a time. Resolves when all have their links. */
  join(count: number, onProgress?: (linked: number) => void): Promise<void>;
}

/** Name of the cluster of an agent of a fleet. */
export const fleetCluster = (id: number): string => `fleet-${id}`;

/** Run compiled: the agent's code is meant to run as it is shipped. */
const MAIN = join(REPOSITORY, 'e2e', 'dist', 'support', 'agent-fleet-main.js');
const JOINING_AT_ONCE = 8;
const JOIN_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 15_000;
/** The one there is. */
const TENANT = 'default';

/** An empty fleet whose agents dial these endpoints only. */
export async function startAgentFleet(
  stack: Stack,
  options: { readonly links: number; readonly endpoints: readonly string[]; readonly targets?: readonly string[] },
): Promise<AgentFleet> {
  const { links, endpoints, targets = [] } = options;
  const child = spawn(process.execPath, [...NODE_FLAGS, '--import', EXIT_WITH_PARENT, MAIN], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...NODE_ENVIRONMENT },
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const news: FleetNews[] = [];
  const listeners = new Set<(heard: FleetNews) => void>();
  child.on('message', (heard: FleetNews) => {
    news.push(heard);
    for (const listener of listeners) listener(heard);
  });
  const caPem = await readFile(stack.api.caFile, 'utf8');
  const registry = await inviter(stack);
  let next = 0;
  const joinOne = async (): Promise<void> => {
    const id = next;
    next += 1;
    const { token, pins } = await registry.invite(fleetCluster(id), links);
    const linked = untilLinked(listeners, id, links);
    const member: FleetMember = { id, endpoints, pins: pins.split(','), token, links, caPem, targets };
    child.send({ members: [member] } satisfies FleetCommand);
    await linked;
  };
  return {
    pid: child.pid ?? 0,
    news,
    join: (count, onProgress) =>
      runAll(count, JOINING_AT_ONCE, async () => {
        await joinOne();
        onProgress?.(next);
      }),
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function untilLinked(listeners: Set<(heard: FleetNews) => void>, id: number, links: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let established = 0;
    let last = 'nothing was heard of it';
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      listeners.delete(hear);
      act();
    };
    const hear = (heard: FleetNews): void => {
      if (heard.id !== id) return;
      last = `${heard.event} ${heard.reason}`;
      if (heard.event === 'link.established') established += 1;
      if (established === links) settle(resolve);
    };
    const late = (): void => settle(() => reject(new Error(`agent ${id} did not link in time: ${last}`)));
    const timer = setTimeout(late, JOIN_TIMEOUT_MS);
    listeners.add(hear);
  });
}

interface Inviter extends AsyncDisposable {
  invite(cluster: string, links: number): Promise<{ token: string; pins: string }>;
}

/**
 * Registers clusters as the admin API does, by asking the registration service: the API itself lets one address fetch
 * one import manifest a second.
 */
async function inviter(stack: Stack): Promise<Inviter> {
  const caller = { role: 'api', credential: 'api' } as const;
  const nc = await connectNats({
    ...stack.nats,
    seedFile: join(stack.stateDir, 'secrets', 'nats-api.seed'),
    ...caller,
    logger: silentLogger,
    signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS),
  });
  const rpc = createRpcClient(nc, caller);
  return {
    invite: async (name, links) => {
      await rpc.call(registrationRpc.createCluster, TENANT, { name, links });
      const { code } = await rpc.call(registrationRpc.createImportLink, TENANT, { name });
      const { manifest } = await rpc.call(registrationRpc.redeemImportLink, NO_TENANT, { code });
      return readInvitation(manifest);
    },
    [Symbol.asyncDispose]: () => nc.close(),
  };
}
