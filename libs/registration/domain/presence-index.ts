import type { Clock } from '@fairlead/clock';
import type { AgentPod, Duplicate, GatewayHeartbeat, LinkedAgent, Presence, LinkRoute } from '@fairlead/contracts';
import { duplicateAmong } from './agent-pods.js';

/** A gateway that was silent this long is taken for dead; three of its default leases. */
const SILENCE_MS = 45_000;

interface Session {
  readonly tenantId: string;
  readonly replica: string;
  readonly instance: string;
  readonly agentInstance: string;
  readonly address: string;
  readonly connectedAt: string;
  readonly agentVersion: string;
  readonly pod: AgentPod | null;
}

/** Several processes with the identity of one cluster that are not the pods of its agent. */
export interface Crowd {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly duplicate: Duplicate;
  /** At least two, oldest first. */
  readonly agents: readonly LinkedAgent[];
}

const MAX_AGENTS = 16;

/**
 * Which clusters are connected, from the keys of the routes bucket. A session counts while its gateway's heartbeat moves;
 * time during which nothing could be heard, because NATS was away, does not count against it.
 */
export class PresenceIndex {
  readonly #sessions = new Map<string, Map<string, Session>>();
  readonly #beats = new Map<string, number>();
  /** Gateways that are about to leave. */
  readonly #draining = new Set<string>();
  /** Clusters that several processes say they are the agent of. */
  readonly #crowded = new Set<string>();
  /** When each cluster lost its last session, wall clock, as far as this process saw it. */
  readonly #offlineSince = new Map<string, string>();
  #listeningSinceMs: number;

  constructor(private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {
    this.#listeningSinceMs = clock.monotonicMs();
  }

  /** The feed works (again) from now on. */
  listening(): void {
    this.#listeningSinceMs = this.clock.monotonicMs();
  }

  /** A key of the bucket changed; `undefined` if it is gone. */
  change(key: string, value: GatewayHeartbeat | LinkRoute | undefined): void {
    const [kind, credential, instance, tenantId, clusterId] = key.split('.');
    if (!credential || !instance) return;
    if (kind === 'gateway') this.#changeGateway(`${credential}.${instance}`, value as GatewayHeartbeat | undefined);
    else if (kind === 'session' && tenantId && clusterId) {
      const route = value && 'sessionId' in value ? value : undefined;
      const session = route && {
        tenantId,
        replica: credential,
        instance,
        agentInstance: route.agentInstance,
        address: route.address,
        connectedAt: route.connectedAt,
        agentVersion: route.agentVersion,
        pod: route.pod,
      };
      this.#changeSession(clusterId, key, session);
    }
  }

  presence(clusterId: string, enrolledAt: string | null): Omit<Presence, 'lastError'> {
    const liveReplicas = this.#live().filter((name) => !this.#draining.has(name)).length;
    const sessions = this.#liveSessions(clusterId);
    if (sessions.length > 0) {
      const agents = agentsOf(sessions);
      const replicas = [...new Set(sessions.map((one) => one.replica))].sort();
      const leaving = sessions.every((one) => this.#draining.has(`${one.replica}.${one.instance}`));
      const duplicate = duplicateAmong(agents);
      const since = agents[0]?.since ?? null;
      return { state: leaving ? 'draining' : 'online', replicas, liveReplicas, since, agents, duplicate };
    }
    const unlinked = { replicas: [], liveReplicas, agents: [], duplicate: null };
    if (enrolledAt === null) return { state: 'never', since: null, ...unlinked };
    return { state: 'offline', since: this.#offlineSince.get(clusterId) ?? null, ...unlinked };
  }

  /** Credentials of the gateways that live, sorted: also those that nobody is linked to. */
  gateways(): string[] {
    return [...new Set(this.#live().map((name) => name.split('.')[0] ?? ''))].sort();
  }

  /** Clusters that several processes are linked to with the same identity, and not as the pods of one agent. */
  crowded(): Crowd[] {
    return [...this.#crowded].flatMap((clusterId) => {
      const sessions = this.#liveSessions(clusterId);
      const agents = agentsOf(sessions);
      const tenantId = sessions[0]?.tenantId;
      const duplicate = duplicateAmong(agents);
      return tenantId !== undefined && duplicate ? [{ tenantId, clusterId, duplicate, agents }] : [];
    });
  }

  /** As `<credential>.<instance>`. */
  #live(): string[] {
    return [...this.#beats].filter(([, beat]) => this.#isRecent(beat)).map(([name]) => name);
  }

  #liveSessions(clusterId: string): Session[] {
    return [...(this.#sessions.get(clusterId)?.values() ?? [])].filter((one) => this.#isLive(one));
  }

  #changeGateway(name: string, heartbeat: GatewayHeartbeat | undefined): void {
    if (heartbeat) this.#beats.set(name, this.clock.monotonicMs());
    else this.#beats.delete(name);
    if (heartbeat?.draining) this.#draining.add(name);
    else this.#draining.delete(name);
  }

  #changeSession(clusterId: string, key: string, session: Session | undefined): void {
    const sessions = this.#sessions.get(clusterId) ?? new Map<string, Session>();
    if (session) sessions.set(key, session);
    else sessions.delete(key);
    const instances = new Set([...sessions.values()].map(({ agentInstance }) => agentInstance));
    if (instances.size > 1) this.#crowded.add(clusterId);
    else this.#crowded.delete(clusterId);
    if (sessions.size > 0) {
      this.#sessions.set(clusterId, sessions);
      this.#offlineSince.delete(clusterId);
    } else if (this.#sessions.delete(clusterId)) {
      this.#offlineSince.set(clusterId, new Date(this.clock.nowMs()).toISOString());
    }
  }

  #isLive({ replica, instance }: Session): boolean {
    const beat = this.#beats.get(`${replica}.${instance}`);
    return beat !== undefined && this.#isRecent(beat);
  }

  #isRecent(beat: number): boolean {
    return this.clock.monotonicMs() - Math.max(beat, this.#listeningSinceMs) < SILENCE_MS;
  }
}

function agentsOf(sessions: readonly Session[]): LinkedAgent[] {
  const byInstance = new Map<string, Session[]>();
  for (const one of sessions) byInstance.set(one.agentInstance, [...(byInstance.get(one.agentInstance) ?? []), one]);
  const agents = [...byInstance].map(([instance, links]) => ({
    instance,
    addresses: [...new Set(links.map(({ address }) => address))].sort().slice(0, MAX_AGENTS),
    since: links.map(({ connectedAt }) => connectedAt).sort()[0] as string,
    version: links[0]?.agentVersion ?? '',
    pod: links.find(({ pod }) => pod)?.pod ?? null,
  }));
  return agents.sort((a, b) => (a.since < b.since ? -1 : 1)).slice(0, MAX_AGENTS);
}
