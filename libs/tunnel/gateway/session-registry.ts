import type { Http2Session } from 'node:http2';
import type { AgentSession } from './agent-session.js';

export type SessionListener = (change: 'opened' | 'closed', session: AgentSession) => void;

/** The links of this replica, by cluster. */
export class SessionRegistry {
  readonly #byCluster = new Map<string, Set<AgentSession>>();
  readonly #listeners = new Set<SessionListener>();

  readonly #byHttp2 = new WeakMap<Http2Session, AgentSession>();

  onChange(listener: SessionListener): void {
    this.#listeners.add(listener);
  }

  /**
   * Adds a session. It replaces what can only be a leftover: the same link of the same agent process, and any link of a
   * lower generation, which this enrolment fences.
   */
  add(session: AgentSession): void {
    const { clusterId, generation, agentInstance, link } = session.facts;
    for (const other of this.of(clusterId)) {
      const leftover = other.facts.agentInstance === agentInstance && other.facts.link === link;
      if (leftover || other.facts.generation < generation) this.remove(other);
    }
    this.#byHttp2.set(session.http2, session);
    const sessions = this.#byCluster.get(clusterId) ?? new Set();
    sessions.add(session);
    this.#byCluster.set(clusterId, sessions);
    this.#tell('opened', session);
  }

  /** Removes and ends a session; harmless if it is gone already. */
  remove(session: AgentSession): void {
    const sessions = this.#byCluster.get(session.facts.clusterId);
    if (!sessions?.delete(session)) return;
    if (sessions.size === 0) this.#byCluster.delete(session.facts.clusterId);
    session.close();
    this.#tell('closed', session);
  }

  /** Live sessions of a cluster: highest generation only, least in flight first, the newest of equals. */
  of(clusterId: string): AgentSession[] {
    const sessions = [...(this.#byCluster.get(clusterId) ?? [])].filter((session) => !session.closed);
    const newest = Math.max(...sessions.map((session) => session.facts.generation));
    return sessions
      .filter((session) => session.facts.generation === newest)
      .sort((a, b) => a.inFlight - b.inFlight || b.facts.connectedAtMs - a.facts.connectedAtMs);
  }

  all(): AgentSession[] {
    return [...this.#byCluster.values()].flatMap((sessions) => [...sessions]);
  }

  /** The session whose Control call came on this connection. */
  byHttp2(http2: Http2Session): AgentSession | undefined {
    return this.#byHttp2.get(http2);
  }

  get inFlight(): number {
    return this.all().reduce((sum, session) => sum + session.inFlight, 0);
  }

  #tell(change: 'opened' | 'closed', session: AgentSession): void {
    for (const listener of this.#listeners) listener(change, session);
  }
}
