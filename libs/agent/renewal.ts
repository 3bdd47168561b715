import type { Clock } from '@fairlead/clock';
import { toFairleadError } from '@fairlead/errors';
import { Wake, runLoop, type Failure } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import type { GatewayConnection } from '@fairlead/tunnel/agent';
import type { AgentIdentity } from './agent-identity.js';
import type { HeldIdentity } from './held-identity.js';
import { RenewalPlan, lifeOf } from './renewal-plan.js';

/** By how much the clocks of an agent and a gateway may differ. */
const SKEW_MS = 5 * 60_000;
const RETRY = { baseMs: 2_000, capMs: 60_000 };

export interface RenewalOptions {
  readonly identity: HeldIdentity;
  readonly logger: Logger;
  readonly clock: Clock;
  /** A connection for the one call. */
  dial(): Promise<GatewayConnection>;
}

/**
 * At two thirds of the certificate's life, and soon after its root is no longer the active one, over a connection of its own;
 * links that stand are not touched. One that has ended already is renewed at once: an agent that was away long comes back so.
 * One renewal at a time; what another pod has renewed meanwhile is taken up instead. Never rejects.
 */
export async function renewInTime(options: RenewalOptions, signal: AbortSignal): Promise<void> {
  const { identity, logger, clock } = options;
  const plan = new RenewalPlan();
  const dueInMs = (): number => plan.dueAtMs(identity.current, clock.nowMs()) - clock.nowMs();
  const wake = new Wake();
  identity.onChange(() => wake.call());
  const work = async (): Promise<number> => {
    if (dueInMs() > 0) return dueInMs();
    // Another pod may have been earlier; then its certificate is ours.
    const { generation, changes } = await identity.takeUp();
    if (dueInMs() > 0) {
      logger.info('agent.renewal.taken_up', { generation, changes });
      return dueInMs();
    }
    const renewed = await renewOnce(options, signal);
    plan.renewed(renewed, clock.nowMs());
    const notAfter = new Date(lifeOf(renewed).endMs).toISOString();
    logger.info('agent.renewed', { notAfter, trustVersion: renewed.trustVersion });
    return dueInMs();
  };
  const onFailed = (error: unknown, { before }: Failure): void => {
    const { code, message } = toFairleadError(error);
    logger.warn('agent.renewal.failed', { attempt: before + 1, code, reason: message });
  };
  await runLoop({ work, intervalMs: RETRY.capMs, retry: RETRY, onFailed, clock, wake }, signal);
}

async function renewOnce(options: RenewalOptions, signal: AbortSignal): Promise<AgentIdentity> {
  const { identity, logger } = options;
  // Loaded when it is needed, as enrolment is.
  const { renew } = await import('./enrol.js');
  using connection = await options.dial();
  const change = await renew(connection, identity.current, logger, signal);
  return identity.change(change);
}

/** Is it past its end, or so near that another clock may think so? It is not shown then: what is asked for with it, its key proves. */
export function hasEnded(identity: AgentIdentity, nowMs: number): boolean {
  const { lifeMs, endMs } = lifeOf(identity);
  return endMs - nowMs < Math.min(SKEW_MS, lifeMs / 12);
}
