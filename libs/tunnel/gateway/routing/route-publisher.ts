import type { Clock } from '@fairlead/clock';
import { BUCKETS, routeKeys, type AgentPod, type GatewayHeartbeat, type LinkRoute } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { connectionState, deleteKv, putKv } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { AgentSession } from '../agent-session.js';
import type { SessionRegistry } from '../session-registry.js';
import type { RouteTable } from './route-table.js';
import type { ConnectedTime } from './route-watcher.js';

export interface RoutePublisherOptions {
  readonly nc: NatsConnection;
  readonly registry: SessionRegistry;
  readonly table: RouteTable;
  readonly time: ConnectedTime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
  readonly heartbeat: Omit<GatewayHeartbeat, 'beat' | 'inFlight' | 'draining' | 'trustVersion'>;
  /** Version of the trust bundle that this replica verifies by now; 0: none yet. */
  readonly trustVersion: () => number;
}

/**
 * Keeps this replica's part of the routes bucket equal to what it really holds: one heartbeat key, and one key per
 * session. Every pass compares the two and writes the difference, so a failed write is only a later one.
 */
export class RoutePublisher {
  readonly #options: RoutePublisherOptions;
  /** Session keys that NATS has acknowledged since the last reconnect, and with which pod. */
  readonly #published = new Map<string, AgentPod | null>();
  #beat = 0;
  #draining = false;
  #passing = false;
  #again = false;

  constructor(options: RoutePublisherOptions) {
    this.#options = options;
    options.registry.onChange(() => void this.pass());
    options.registry.onRoute(() => void this.pass());
    connectionState(options.nc).onChange((connected) => {
      this.#published.clear();
      if (connected) void this.#beatAndPass();
    });
  }

  /** Beats three times per lease until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#beatAndPass();
      await this.#options.clock.sleep(this.#options.leaseMs / 3, signal).catch(() => undefined);
    }
  }

  async drain(): Promise<void> {
    this.#draining = true;
    await this.#beatAndPass();
  }

  /** Takes this replica out of the bucket: nobody routes here any more. */
  async withdraw(): Promise<void> {
    const { nc, heartbeat } = this.#options;
    await this.#attempt('withdraw', async () => {
      for (const key of this.#published.keys()) await deleteKv(nc, BUCKETS.routes, key);
      await deleteKv(nc, BUCKETS.routes, routeKeys.gateway(heartbeat.credential, heartbeat.instance));
    });
  }

  /** Writes what differs. Passes do not overlap; a change during one causes another. */
  async pass(): Promise<void> {
    if (this.#passing) {
      this.#again = true;
      return;
    }
    this.#passing = true;
    do {
      this.#again = false;
      await this.#attempt('publish', () => this.#writeDifference());
    } while (this.#again);
    this.#passing = false;
  }

  async #beatAndPass(): Promise<void> {
    const { nc, heartbeat, registry, trustVersion } = this.#options;
    await this.#attempt('heartbeat', async () => {
      this.#beat += 1;
      const value: GatewayHeartbeat = {
        ...heartbeat,
        beat: this.#beat,
        inFlight: registry.inFlight,
        draining: this.#draining,
        trustVersion: trustVersion(),
      };
      await putKv(nc, BUCKETS.routes, routeKeys.gateway(heartbeat.credential, heartbeat.instance), value);
      await this.#removeLeftovers();
    });
    await this.pass();
  }

  async #writeDifference(): Promise<void> {
    const { nc, registry, heartbeat } = this.#options;
    const desired = new Map(
      registry
        .all()
        .filter(({ leaving }) => !leaving)
        .map((session) => {
          const route = routeOf(session, heartbeat.instance);
          return [routeKeys.session(heartbeat.credential, route), route];
        }),
    );
    for (const [key, route] of desired) {
      if (this.#published.get(key) === route.pod) continue;
      await putKv(nc, BUCKETS.routes, key, route);
      this.#published.set(key, route.pod);
    }
    for (const key of this.#published.keys()) {
      if (desired.has(key)) continue;
      await deleteKv(nc, BUCKETS.routes, key);
      this.#published.delete(key);
    }
  }

  /** A replica that was killed cannot clean up; the next one with its credential does. */
  async #removeLeftovers(): Promise<void> {
    const { nc, table, time, heartbeat } = this.#options;
    for (const instance of table.deadInstances(heartbeat.credential, time.nowMs())) {
      for (const key of table.sessionKeysOf(instance)) await deleteKv(nc, BUCKETS.routes, key);
      await deleteKv(nc, BUCKETS.routes, routeKeys.gateway(heartbeat.credential, instance));
    }
    // Sessions that were deleted here while NATS was away were never acknowledged as deleted.
    for (const key of table.sessionKeysOf(heartbeat.instance)) {
      if (!this.#published.has(key) && !this.#isOurs(key)) await deleteKv(nc, BUCKETS.routes, key);
    }
  }

  #isOurs(key: string): boolean {
    return this.#options.registry.all().some((session) => key.endsWith(`.${session.facts.sessionId}`));
  }

  async #attempt(what: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#options.logger.warn('routes.write.failed', { what, reason: messageOf(error) });
    }
  }
}

function routeOf(session: AgentSession, gatewayInstance: string): LinkRoute {
  const { tenantId, clusterId, generation, sessionId, agentInstance, remoteAddress, connectedAtMs } = session.facts;
  const { agentVersion = '' } = session.facts;
  const connectedAt = new Date(connectedAtMs).toISOString();
  const address = remoteAddress.slice(0, 64);
  const who = { agentInstance, agentVersion, address };
  return { tenantId, clusterId, generation, sessionId, ...who, gatewayInstance, connectedAt, pod: session.pod };
}
