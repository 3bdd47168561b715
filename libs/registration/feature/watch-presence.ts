import { systemClock } from '@fairlead/clock';
import { BUCKETS, GatewayHeartbeat, SessionLease } from '@fairlead/contracts';
import { connectionState, watchBucket } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { PresenceIndex } from '../domain/presence-index.js';
import type { PresenceOf } from './clusters.js';

export interface WatchedPresence extends AsyncDisposable {
  readonly presenceOf: PresenceOf;
}

/** Follows the routes bucket, to tell which clusters are connected where. */
export function watchPresence(nats: NatsConnection, logger: Logger): WatchedPresence {
  const index = new PresenceIndex(systemClock);
  const snapshot = watchBucket(nats, BUCKETS.routes, z.union([SessionLease, GatewayHeartbeat]), {
    onChange: (key, value) => index.change(key, value),
    logger,
  });
  const unwatch = connectionState(nats).onChange((connected) => connected && index.listening());
  return {
    presenceOf: (clusterId, enrolledAt) => index.presence(clusterId, enrolledAt),
    [Symbol.asyncDispose]: async () => {
      unwatch();
      await snapshot.close();
    },
  };
}
