import type { GatewayHeartbeat, LinkRoute } from '@fairlead/contracts';

/** Another replica that may hold a link of the cluster. */
export interface RouteOwner {
  readonly credential: string;
  readonly instance: string;
  readonly relayAddress: string;
  /** Of the one link that it holds of the cluster; absent: there are several, and it chooses. */
  readonly sessionId?: string | undefined;
}

interface GatewayRecord {
  heartbeat: GatewayHeartbeat;
  /** Milliseconds of time connected to NATS, when its heartbeat last changed. */
  heardAtMs: number;
  /** A probe failed since the heartbeat last changed. */
  probeFailed: boolean;
}

export interface RouteTableOptions {
  readonly ownInstance: string;
  readonly zone: string;
  readonly leaseMs: number;
}

/**
 * Which replicas hold which clusters, as far as this one knows: pure, fed by the watched bucket.
 *
 * Liveness is told by change, never by comparing clocks, and its time is counted only while connected to NATS, so that
 * an outage of NATS, however long, deletes no route. An owner is left out only when a full lease passed without a beat
 * *and* a probe failed since; before that it comes last.
 */
export class RouteTable {
  readonly #options: RouteTableOptions;
  readonly #gateways = new Map<string, GatewayRecord>();
  /** Cluster id → session key → route. */
  readonly #sessions = new Map<string, Map<string, LinkRoute>>();
  readonly #clusterOfKey = new Map<string, string>();
  /** When a cluster's last session went, in time connected to NATS; as many as there are clusters. */
  readonly #lastSeenMs = new Map<string, number>();
  readonly #beatListeners = new Set<() => void>();

  constructor(options: RouteTableOptions) {
    this.#options = options;
  }

  /** A gateway's key changed, or is gone. `nowMs` counts only time connected to NATS. */
  setGateway(heartbeat: GatewayHeartbeat, nowMs: number): void {
    const known = this.#gateways.get(heartbeat.instance);
    if (known && known.heartbeat.beat === heartbeat.beat) return;
    this.#gateways.set(heartbeat.instance, { heartbeat, heardAtMs: nowMs, probeFailed: false });
    this.#beatListeners.forEach((listener) => listener());
  }

  removeGateway(instance: string): void {
    this.#gateways.delete(instance);
    this.#beatListeners.forEach((listener) => listener());
  }

  /** Calls back whenever a replica's heart beats, and when one is gone. */
  onBeat(listener: () => void): void {
    this.#beatListeners.add(listener);
  }

  /** Replicas that beat and do not drain; this one counts whatever is known of it. */
  replicas(nowMs: number): number {
    const others = [...this.#gateways.values()].filter(
      (record) => record.heartbeat.instance !== this.#options.ownInstance && !record.heartbeat.draining,
    );
    return 1 + others.filter((record) => !this.#silent(record, nowMs)).length;
  }

  setSession(key: string, route: LinkRoute): void {
    const sessions = this.#sessions.get(route.clusterId) ?? new Map<string, LinkRoute>();
    sessions.set(key, route);
    this.#sessions.set(route.clusterId, sessions);
    this.#clusterOfKey.set(key, route.clusterId);
  }

  removeSession(key: string, nowMs: number): void {
    const clusterId = this.#clusterOfKey.get(key);
    if (clusterId === undefined) return;
    this.#clusterOfKey.delete(key);
    const sessions = this.#sessions.get(clusterId);
    sessions?.delete(key);
    if (sessions?.size !== 0) return;
    this.#sessions.delete(clusterId);
    this.#lastSeenMs.set(clusterId, nowMs);
  }

  /** Did this cluster have a session here or elsewhere a moment ago? Then its agent is probably on its way back. */
  seenWithin(clusterId: string, periodMs: number, nowMs: number): boolean {
    return nowMs - (this.#lastSeenMs.get(clusterId) ?? -Infinity) <= periodMs;
  }

  /** A probe of this owner failed in a way that says its process or its session is gone. */
  probeFailed(instance: string): void {
    const record = this.#gateways.get(instance);
    if (record) record.probeFailed = true;
  }

  /** Other replicas to try for a cluster, best first: beating ones, same zone, least in flight. */
  owners(clusterId: string, nowMs: number): RouteOwner[] {
    const routes = [...(this.#sessions.get(clusterId)?.values() ?? [])];
    const generation = Math.max(...routes.map((route) => route.generation));
    const newest = routes.filter((route) => route.generation === generation);
    const instances = new Set(newest.map((route) => route.gatewayInstance));
    instances.delete(this.#options.ownInstance);
    return [...instances]
      .map((instance) => this.#gateways.get(instance))
      .filter((record) => record !== undefined)
      .filter((record) => !(this.#silent(record, nowMs) && record.probeFailed))
      .sort((a, b) => this.#rank(a, nowMs) - this.#rank(b, nowMs) || a.heartbeat.inFlight - b.heartbeat.inFlight)
      .map(({ heartbeat: { credential, instance, relayAddress } }) => {
        const [link, another] = newest.filter((route) => route.gatewayInstance === instance);
        return { credential, instance, relayAddress, sessionId: another ? undefined : link?.sessionId };
      });
  }

  /** Does a replica that beats hold a link of this cluster? */
  isHeld(clusterId: string, nowMs: number): boolean {
    for (const { gatewayInstance } of this.#sessions.get(clusterId)?.values() ?? []) {
      const record = this.#gateways.get(gatewayInstance);
      if (record && !this.#silent(record, nowMs)) return true;
    }
    return false;
  }

  /** Instances of one credential that stopped beating for `periods` leases: leftovers that their successor may remove. */
  deadInstances(credential: string, nowMs: number, periods = 3): string[] {
    return [...this.#gateways.values()]
      .filter(({ heartbeat }) => heartbeat.credential === credential)
      .filter(({ heartbeat }) => heartbeat.instance !== this.#options.ownInstance)
      .filter(({ heardAtMs }) => nowMs - heardAtMs > periods * this.#options.leaseMs)
      .map(({ heartbeat }) => heartbeat.instance);
  }

  /** Keys of the sessions that an instance announced. */
  sessionKeysOf(instance: string): string[] {
    return [...this.#sessions.values()].flatMap((sessions) =>
      [...sessions].filter(([, route]) => route.gatewayInstance === instance).map(([key]) => key),
    );
  }

  #silent(record: GatewayRecord, nowMs: number): boolean {
    return nowMs - record.heardAtMs > this.#options.leaseMs;
  }

  #rank(record: GatewayRecord, nowMs: number): number {
    const late = this.#silent(record, nowMs) || record.probeFailed || record.heartbeat.draining;
    return (late ? 2 : 0) + (record.heartbeat.zone === this.#options.zone ? 0 : 1);
  }
}
