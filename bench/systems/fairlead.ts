import { chmod, mkdir, readFile } from 'node:fs/promises';
import { systemClock } from '@fairlead/clock';
import { startStack, type GatewayAddresses, type Stack } from '@fairlead/stack';
import { scratchDir } from '@fairlead/testing';
import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';
import { startAgent } from './agent.js';
import { inviteCluster } from './invitation.js';
import type { System } from './system.js';

export interface FairleadOptions {
  /** What the agent takes for its kube-apiserver. */
  readonly server: System;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

const CLUSTER = 'bench';
const LINK_TIMEOUT_MS = 15_000;
const POLL_MS = 100;
const SessionsView = z.object({ sessions: z.array(z.unknown()) });

/**
 * A whole installation with two gateways, and one agent with one link: reached through the gateway that holds it, and
 * through the one that does not. Everything runs as it does for users; nothing is tuned for the benchmark.
 */
export async function startFairlead(options: FairleadOptions, owned: AsyncDisposableStack): Promise<System[]> {
  const { server, say, signal } = options;
  const scratch = owned.use(await scratchDir('fairlead-bench-'));
  // Postgres may run as a user of its own: it passes through.
  await chmod(scratch.path, 0o711);
  const stack = owned.use(
    await startStack({
      stateDir: scratch.file('state'),
      basePort: 0,
      demo: false,
      restart: false,
      signal,
      log: (event) => {
        if (event.kind === 'progress') say(event.text);
        if (event.kind === 'died') say(`${event.process} died: ${event.how}`);
      },
    }),
  );
  say('joining the cluster and starting its agent');
  const invitation = await inviteCluster(stack, CLUSTER);
  const dir = scratch.file('agent');
  await mkdir(dir, { mode: 0o700 });
  const agent = owned.use(await startAgent({ invitation, server, dir, signal }));
  return systemsOf(stack, agent.pid, signal);
}

async function systemsOf(stack: Stack, agentPid: number, signal: AbortSignal): Promise<System[]> {
  const { holder, other } = await whoHoldsTheLink(stack, signal);
  const caPem = await readFile(stack.api.caFile, 'utf8');
  const authorization = `Bearer ${(await readFile(stack.api.adminTokenFile, 'utf8')).trim()}`;
  const pidOf = ({ name }: GatewayAddresses): number => {
    const { pid } = stack.process(name);
    if (pid === undefined) throw new BenchError(`${name} does not run`);
    return pid;
  };
  const through = (door: GatewayAddresses) => ({
    target: `${door.doorUrl}/clusters/${CLUSTER}`,
    caPem,
    authorization,
  });
  return [
    { name: 'fairlead', ...through(holder), pids: [pidOf(holder), agentPid] },
    { name: 'fairlead-relayed', ...through(other), pids: [pidOf(other), pidOf(holder), agentPid] },
  ];
}

/** Asks the gateways until one, and only one, has the agent's session. */
async function whoHoldsTheLink(
  stack: Stack,
  signal: AbortSignal,
): Promise<{ holder: GatewayAddresses; other: GatewayAddresses }> {
  const deadline = systemClock.monotonicMs() + LINK_TIMEOUT_MS;
  while (systemClock.monotonicMs() < deadline) {
    const held = await Promise.all(
      stack.gateways.map(async (gateway) => ({ gateway, sessions: await sessionsOf(gateway, signal) })),
    );
    const holder = held.find(({ sessions }) => sessions === 1)?.gateway;
    const other = held.find(({ sessions }) => sessions === 0)?.gateway;
    if (holder && other) return { holder, other };
    await systemClock.sleep(POLL_MS, signal);
  }
  throw new BenchError("the agent's link was not found at exactly one of the gateways");
}

async function sessionsOf({ healthUrl }: GatewayAddresses, signal: AbortSignal): Promise<number> {
  const answer = await fetch(`${healthUrl}/debug/sessions`, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]),
  });
  return SessionsView.parse(await answer.json()).sessions.length;
}
