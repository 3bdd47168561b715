import { systemClock } from '@fairlead/clock';
import { BUCKETS, GatewayHeartbeat, LinkRoute } from '@fairlead/contracts';
import { connectionState, watchBucket } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { DuplicateAgents, ROLLOUT_MS } from '../domain/duplicate-agents.js';
import { PresenceIndex, type Crowd } from '../domain/presence-index.js';
import type { PresenceOf } from './clusters.js';

export interface WatchedPresence extends AsyncDisposable {
  readonly presenceOf: PresenceOf;
  /** Credentials of the gateways that live. */
  readonly gateways: () => readonly string[];
}

const LOOK_EVERY_MS = 1_000;

/**
 * Follows the routes bucket, to tell which clusters are connected where. `onCrowd` hears of each cluster that has come to have
 * several agents; if it rejects, it hears of it again.
 */
export function watchPresence(
  nats: NatsConnection,
  logger: Logger,
  onCrowd?: (crowd: Crowd) => Promise<void>,
): WatchedPresence {
  const index = new PresenceIndex(systemClock);
  const snapshot = watchBucket(nats, BUCKETS.routes, z.union([LinkRoute, GatewayHeartbeat]), {
    onChange: (key, value) => index.change(key, value),
    logger,
  });
  const looking = onCrowd && setInterval(lookOut(index, onCrowd, logger), LOOK_EVERY_MS).unref();
  const unwatch = connectionState(nats).onChange((connected) => connected && index.listening());
  return {
    presenceOf: (clusterId, enrolledAt) => index.presence(clusterId, enrolledAt),
    gateways: () => index.gateways(),
    [Symbol.asyncDispose]: async () => {
      unwatch();
      clearInterval(looking);
      await snapshot.close();
    },
  };
}

function lookOut(index: PresenceIndex, onCrowd: (crowd: Crowd) => Promise<void>, logger: Logger): () => void {
  const copies = new DuplicateAgents();
  // More than the Deployment has are nothing new while it is rolled out.
  const surplus = new DuplicateAgents(ROLLOUT_MS);
  return () => {
    const crowds = new Map(index.crowded().map((crowd) => [crowd.clusterId, crowd]));
    const countsOf = (isSurplus: boolean): Map<string, number> => {
      const chosen = [...crowds.values()].filter(({ duplicate }) => (duplicate === 'surplus') === isSurplus);
      return new Map(chosen.map(({ clusterId, agents }) => [clusterId, agents.length]));
    };
    const nowMs = systemClock.monotonicMs();
    for (const [duplicates, counts] of [
      [copies, countsOf(false)],
      [surplus, countsOf(true)],
    ] as const) {
      for (const clusterId of duplicates.observe(counts, nowMs)) {
        onCrowd(crowds.get(clusterId) as Crowd).catch((error: unknown) => {
          logger.error('event.not_recorded', { subject: `cluster/${clusterId}`, err: error });
          duplicates.forget(clusterId);
        });
      }
    }
  };
}
