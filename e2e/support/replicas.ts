import type { GatewayAddresses, Stack } from '@fairlead/stack';
import { z } from 'zod';

const SessionsView = z
  .object({
    sessions: z.array(z.object({ clusterId: z.string(), inFlight: z.int(), parked: z.int(), sessionId: z.string() })),
  })
  .nullable();

/** One agent link as a replica shows it to people. */
export interface SessionView {
  readonly clusterId: string;
  readonly inFlight: number;
  readonly parked: number;
  readonly sessionId: string;
}

const TIMEOUT_MS = 5_000;

/** Links that a replica holds; none while it starts. Rejects if it does not answer. */
export async function sessionsAt({ healthUrl }: GatewayAddresses): Promise<readonly SessionView[]> {
  const answer = await fetch(`${healthUrl}/debug/sessions`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return SessionsView.parse(await answer.json())?.sessions ?? [];
}

/** Sum of a metric's samples whose labels include `label`; 0 before it was first counted. Rejects if there is no such metric. */
export async function metricOf(healthUrl: string, metric: string, label = ''): Promise<number> {
  const text = await (await fetch(`${healthUrl}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) })).text();
  if (!text.includes(`# TYPE ${metric} `)) throw new Error(`${healthUrl} has no metric ${metric}`);
  const samples = text.split('\n').filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
  return samples
    .filter((line) => line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Tunnels that other replicas sent to agents linked here, all told. */
export function relayedIn(replica: GatewayAddresses): Promise<number> {
  return metricOf(replica.healthUrl, 'fairlead_gateway_relayed_tunnels_total', 'direction="in"');
}

export async function isReady(replica: GatewayAddresses): Promise<boolean> {
  try {
    return (await fetch(`${replica.healthUrl}/readyz`, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    return false;
  }
}

/** Throws if it does not run. */
export function pidOf(stack: Stack, { name }: GatewayAddresses): number {
  const { pid } = stack.process(name);
  if (pid === undefined) throw new Error(`${name} does not run`);
  return pid;
}
