import { isDeepStrictEqual } from 'node:util';
import { systemClock, type Clock } from '@fairlead/clock';
import type { Logger } from '@fairlead/observability';
import type { AgentFacts } from '@fairlead/tunnel/agent';
import type { FactsFeed } from './feed.js';
import { observeCluster, type Observation, type ObserveOptions } from './observe-cluster.js';

export interface ClusterFactsOptions extends ObserveOptions {
  readonly logger: Logger;
  /** How long between two observations, on average. */
  readonly refreshMs: number;
  readonly clock?: Clock;
  /** Instead of observing by the API server. */
  readonly observe?: typeof observeCluster;
}

/** An agent that starts says what it knows by then: links do not wait for a slow API server. */
const FIRST_OBSERVE_MS = 5_000;
const OBSERVE_MS = 30_000;
/** After an observation that failed, the next one is not ten minutes away. */
const AFTER_FAILURE_MS = 60_000;

/** Observes the cluster now, and then every so often with jitter, until the signal. Never fails: what is not known is left out. */
export function followCluster(options: ClusterFactsOptions, signal: AbortSignal): FactsFeed {
  const { logger, refreshMs, clock = systemClock, observe = observeCluster } = options;
  const listeners = new Set<(facts: AgentFacts) => void>();
  let complaint: string | null = null;
  const observeOnce = async (before: AgentFacts | null, timeoutMs: number): Promise<Observation> => {
    const seen = await observe(options, before, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    const reason = seen.failure ?? (seen.facts.nodes ? null : 'the agent may not list nodes');
    if (reason !== null && reason !== complaint && !signal.aborted) logger.warn('agent.facts.incomplete', { reason });
    complaint = reason;
    return seen;
  };
  const first = observeOnce(null, FIRST_OBSERVE_MS);
  let current = first.then(({ facts }) => facts);
  const follow = async (): Promise<void> => {
    for (let seen = await first; !signal.aborted;) {
      const everyMs = seen.failure === null ? refreshMs : Math.min(refreshMs, AFTER_FAILURE_MS);
      await clock.sleep(everyMs * (0.5 + Math.random()), signal).catch(() => undefined);
      if (signal.aborted) return;
      const { facts: before } = seen;
      seen = await observeOnce(before, OBSERVE_MS);
      if (isDeepStrictEqual(before, seen.facts)) continue;
      const { facts } = seen;
      current = Promise.resolve(facts);
      logger.info('agent.facts.changed', { version: facts.kubernetesVersion, ...facts.nodes });
      for (const listener of listeners) listener(facts);
    }
  };
  void follow();
  return {
    current: () => current,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
