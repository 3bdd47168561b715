import type { Clock } from '@fairlead/clock';
import type { GatewayHeartbeat, Presence, SessionLease } from '@fairlead/contracts';

/** A gateway that was silent this long is taken for dead; three of its default leases. */
const SILENCE_MS = 45_000;

interface Session {
  readonly replica: string;
  readonly instance: string;
  readonly connectedAt: string;
}

/**
 * Which clusters are connected, from the keys of the routes bucket. A session counts while its gateway's heartbeat moves;
 * time during which nothing could be heard, because NATS was away, does not count against it.
 */
export class PresenceIndex {
  readonly #clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly #sessions = new Map<string, Map<string, Session>>();
  readonly #beats = new Map<string, number>();
  /** When each cluster lost its last session, wall clock, as far as this process saw it. */
  readonly #offlineSince = new Map<string, string>();
  #listeningSinceMs: number;

  constructor(clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {
    this.#clock = clock;
    this.#listeningSinceMs = clock.monotonicMs();
  }

  /** The feed works (again) from now on. */
  listening(): void {
    this.#listeningSinceMs = this.#clock.monotonicMs();
  }

  /** A key of the bucket changed; `undefined` if it is gone. */
  change(key: string, value: GatewayHeartbeat | SessionLease | undefined): void {
    const [kind, credential, instance, , clusterId] = key.split('.');
    if (!credential || !instance) return;
    if (kind === 'gateway') this.#changeGateway(`${credential}.${instance}`, value !== undefined);
    else if (kind === 'session' && clusterId) {
      const lease = value && 'sessionId' in value ? value : undefined;
      const session = lease && { replica: credential, instance, connectedAt: lease.connectedAt };
      this.#changeSession(clusterId, key, session);
    }
  }

  presence(clusterId: string, enrolledAt: string | null): Presence {
    const sessions = [...(this.#sessions.get(clusterId)?.values() ?? [])].filter((one) => this.#isLive(one));
    if (sessions.length > 0) {
      const since = sessions.map((one) => one.connectedAt).sort()[0]!;
      return { state: 'online', replicas: [...new Set(sessions.map((one) => one.replica))].sort(), since };
    }
    if (enrolledAt === null) return { state: 'never', replicas: [], since: null };
    return { state: 'offline', replicas: [], since: this.#offlineSince.get(clusterId) ?? null };
  }

  #changeGateway(name: string, present: boolean): void {
    if (present) this.#beats.set(name, this.#clock.monotonicMs());
    else this.#beats.delete(name);
  }

  #changeSession(clusterId: string, key: string, session: Session | undefined): void {
    const sessions = this.#sessions.get(clusterId) ?? new Map<string, Session>();
    if (session) sessions.set(key, session);
    else sessions.delete(key);
    if (sessions.size > 0) {
      this.#sessions.set(clusterId, sessions);
      this.#offlineSince.delete(clusterId);
    } else if (this.#sessions.delete(clusterId)) {
      this.#offlineSince.set(clusterId, new Date(this.#clock.nowMs()).toISOString());
    }
  }

  #isLive({ replica, instance }: Session): boolean {
    const beat = this.#beats.get(`${replica}.${instance}`);
    return beat !== undefined && this.#clock.monotonicMs() - Math.max(beat, this.#listeningSinceMs) < SILENCE_MS;
  }
}
