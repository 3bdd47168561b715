import { X509Certificate } from 'node:crypto';
import { fullJitterMs, type Clock } from '@fairlead/clock';
import { toFairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { GatewayConnection } from '@fairlead/tunnel/agent';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';

/** By how much the clocks of an agent and a gateway may differ. */
const SKEW_MS = 5 * 60_000;

export interface RenewalOptions {
  readonly store: IdentityStore;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The one that is used now. */
  identity(): AgentIdentity;
  onRenewed(identity: AgentIdentity): void;
  /** A connection for the one call. */
  dial(): Promise<GatewayConnection>;
}

/**
 * At two thirds of the certificate's life, over a connection of its own; links that stand are not touched. One that has
 * ended already is renewed at once: an agent that was away long comes back so. Never rejects.
 */
export async function renewInTime(options: RenewalOptions, signal: AbortSignal): Promise<void> {
  const { store, logger, clock } = options;
  const untilRenewalMs = (): number => dueInMs(options.identity(), clock.nowMs());
  // Even a clock that is far ahead must not make this a storm.
  let pauseMs = 0;
  for (let attempt = 0; !signal.aborted;) {
    const dueMs = Math.max(untilRenewalMs(), pauseMs);
    const waitMs = attempt === 0 ? dueMs : fullJitterMs(attempt, { baseMs: 1_000, capMs: 60_000 });
    await clock.sleep(waitMs, signal).catch(() => undefined);
    if (signal.aborted || untilRenewalMs() > 0) continue;
    try {
      // Loaded when it is needed, as enrolment is.
      const { renew } = await import('./enrol.js');
      using connection = await options.dial();
      const renewed = await renew(connection, options.identity(), signal);
      await store.saveIdentity(renewed);
      options.onRenewed(renewed);
      attempt = 0;
      pauseMs = lifeMs(renewed) / 12;
      logger.info('agent.renewed', { notAfter: leafOf(renewed).validTo });
    } catch (error) {
      attempt += 1;
      const failure = toFairleadError(error);
      logger.warn('agent.renewal.failed', { attempt, code: failure.code, reason: failure.message });
    }
  }
}

function dueInMs(identity: AgentIdentity, nowMs: number): number {
  const beginMs = Date.parse(leafOf(identity).validFrom);
  const dueMs = beginMs + (lifeMs(identity) * 2) / 3 - nowMs;
  return Math.min(Math.max(dueMs, 0), 24 * 3_600_000);
}

/** Is it past its end, or so near that another clock may think so? It is not shown then: what is asked for with it, its key proves. */
export function hasEnded(identity: AgentIdentity, nowMs: number): boolean {
  return Date.parse(leafOf(identity).validTo) - nowMs < Math.min(SKEW_MS, lifeMs(identity) / 12);
}

function lifeMs(identity: AgentIdentity): number {
  const { validFrom, validTo } = leafOf(identity);
  return Date.parse(validTo) - Date.parse(validFrom);
}

function leafOf(identity: AgentIdentity): X509Certificate {
  return new X509Certificate(identity.chainPem[0] ?? '');
}
