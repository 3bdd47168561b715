import { systemClock, type Clock } from '@fairlead/clock';
import { TokenBucket } from '@fairlead/limits';
import type { GatewayEvents, SessionEvent } from './gateway-events.js';

/** Of one cluster at one replica: enough for rollouts of both, and no more than six a minute of an agent that flaps. */
const RATE = { burst: 10, perSecond: 0.1 };
/** So many clusters are remembered before those that are quiet are forgotten. */
const REMEMBERED = 1_000;

interface Flapping {
  readonly bucket: TokenBucket;
  /** The newest event that waits, and how many gave way to it. */
  held: { send: (suppressed: number) => void; suppressed: number } | null;
}

/**
 * The same events, but of an agent that comes and goes all the time only some: what is beyond the rate waits, the newest
 * takes the place of the one before it, and says how many it stands for. So the last one is always told.
 */
export function rateLimitedSessions(
  events: GatewayEvents,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): GatewayEvents {
  const clusters = new Map<string, Flapping>();
  const tell = ({ clusterId }: SessionEvent, send: (suppressed: number) => void): void => {
    const nowMs = clock.monotonicMs();
    if (clusters.size >= REMEMBERED) forgetQuiet(clusters, nowMs);
    const cluster = clusters.get(clusterId) ?? { bucket: new TokenBucket(RATE, nowMs), held: null };
    clusters.set(clusterId, cluster);
    if (cluster.held) {
      cluster.held = { send, suppressed: cluster.held.suppressed + 1 };
    } else if (cluster.bucket.take(nowMs)) {
      send(0);
    } else {
      cluster.held = { send, suppressed: 0 };
      setTimeout(release, cluster.bucket.waitMs(nowMs), cluster, clock).unref();
    }
  };
  return {
    ...events,
    agentConnected: (session) => tell(session, (suppressed) => events.agentConnected({ ...session, suppressed })),
    agentDisconnected: (session) => tell(session, (suppressed) => events.agentDisconnected({ ...session, suppressed })),
  };
}

function release(cluster: Flapping, clock: Pick<Clock, 'monotonicMs'>): void {
  const { held, bucket } = cluster;
  cluster.held = null;
  // Timers may come a moment early; this one is due.
  bucket.take(clock.monotonicMs());
  held?.send(held.suppressed);
}

function forgetQuiet(clusters: Map<string, Flapping>, nowMs: number): void {
  for (const [clusterId, { held, bucket }] of clusters) {
    if (!held && bucket.isFull(nowMs)) clusters.delete(clusterId);
  }
}
