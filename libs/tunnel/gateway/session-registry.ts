import type { AgentPod } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Http2Session } from '@fairlead/http2';
import type { AgentSession } from './agent-session.js';

/** Far more than an agent keeps; each costs memory here and a key in the routes of every replica. */
const MAX_LINKS_PER_CLUSTER = 16;

export type SessionListener = (change: 'opened' | 'closed', session: AgentSession) => void;

/** The links of this replica, by cluster. */
export class SessionRegistry {
  readonly #byCluster = new Map<string, Set<AgentSession>>();
  readonly #listeners = new Set<SessionListener>();
  readonly #byHttp2 = new WeakMap<Http2Session, AgentSession>();
  readonly #routeListeners = new Set<() => void>();
  #draining = false;

  /** Calls back when what is told of a session's route has changed, though it neither came nor went. */
  onRoute(listener: () => void): void {
    this.#routeListeners.add(listener);
  }

  onChange(listener: SessionListener): void {
    this.#listeners.add(listener);
  }

  /**
   * Adds a session. It ends every link of a lower generation, which this enrolment fences, and the oldest ones beyond
   * what one cluster may hold. An earlier one of the same link of the same agent process is a leftover, or drains with
   * requests still on it: it stays as long as its peer answers. Throws DRAINING, CERTIFICATE_REFUSED for a generation
   * lower than one that is here, PROTOCOL_ERROR for a second session on one connection.
   */
  add(session: AgentSession): void {
    const { clusterId, generation, agentInstance, link } = session.facts;
    const others = [...(this.#byCluster.get(clusterId) ?? [])];
    if (this.#draining) throw new FairleadError('DRAINING', 'this replica is shutting down; link to another');
    if (this.#byHttp2.has(session.http2)) throw new FairleadError('PROTOCOL_ERROR', 'a link says Hello once');
    if (others.some((other) => other.facts.generation > generation)) {
      throw new FairleadError('CERTIFICATE_REFUSED', `enrolment ${generation} was replaced by a newer one`);
    }
    for (const other of others) {
      const sameLink = other.facts.agentInstance === agentInstance && other.facts.link === link;
      if (other.facts.generation < generation) this.remove(other);
      else if (sameLink) other.endUnlessAnswering();
    }
    for (const other of others.slice(0, -(MAX_LINKS_PER_CLUSTER - 1))) this.remove(other);
    this.#byHttp2.set(session.http2, session);
    const sessions = this.#byCluster.get(clusterId) ?? new Set();
    sessions.add(session);
    this.#byCluster.set(clusterId, sessions);
    this.#tell('opened', session);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Takes no new sessions from now on: an agent that is told to move must not come back here. */
  drain(): void {
    this.#draining = true;
  }

  /** Removes and ends a session; harmless if it is gone already. */
  remove(session: AgentSession): void {
    const sessions = this.#byCluster.get(session.facts.clusterId);
    if (!sessions?.delete(session)) return;
    if (sessions.size === 0) this.#byCluster.delete(session.facts.clusterId);
    session.close();
    this.#tell('closed', session);
  }

  /** Its agent ends soon, or has a better link: no tunnel is opened there any more, here or by another replica. */
  leave(session: AgentSession): void {
    if (session.leaving) return;
    session.leave();
    for (const listener of this.#routeListeners) listener();
  }

  /** Where its agent runs. */
  setPod(session: AgentSession, pod: AgentPod | null): void {
    session.pod = pod;
    for (const listener of this.#routeListeners) listener();
  }

  /** Live sessions of a cluster that are not being left: highest generation only, those that have begun first, then by what is in flight, the newest of equals. */
  of(clusterId: string): AgentSession[] {
    const sessions = [...(this.#byCluster.get(clusterId) ?? [])].filter(
      (session) => !session.closed && !session.leaving,
    );
    const newest = Math.max(...sessions.map((session) => session.facts.generation));
    return sessions
      .filter((session) => session.facts.generation === newest)
      .sort(
        (a, b) =>
          Number(b.begun) - Number(a.begun) || a.inFlight - b.inFlight || b.facts.connectedAtMs - a.facts.connectedAtMs,
      );
  }

  /** Every session of a cluster that has not ended, whatever its generation, being left or not. */
  everyOf(clusterId: string): AgentSession[] {
    return [...(this.#byCluster.get(clusterId) ?? [])];
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
