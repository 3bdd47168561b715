import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';

/** Every agent that is told works on it and answers, and what it does not read yet is held here: thousands are told over seconds, not in one moment. */
const TOLD_AT_ONCE = 50;
const PAUSE_MS = 100;

/** What is returned has `tell` called for a session once its turn comes; once, however often that is asked for before, and not if it closes first. */
export function tellInTurn(
  sessions: SessionRegistry,
  tell: (session: AgentSession) => void,
): (session: AgentSession) => void {
  const waiting = new Set<AgentSession>();
  let timer: NodeJS.Timeout | null = null;
  const tellSome = (): void => {
    timer = null;
    for (const session of [...waiting].slice(0, TOLD_AT_ONCE)) {
      waiting.delete(session);
      if (!session.closed) tell(session);
    }
    if (waiting.size > 0) timer = setTimeout(tellSome, PAUSE_MS);
  };
  sessions.onChange((change, session) => {
    if (change === 'closed') waiting.delete(session);
  });
  return (session) => {
    waiting.add(session);
    // Not at once: a link that is new is to be welcomed first.
    timer ??= setTimeout(tellSome, 0);
  };
}

/** What is known of other replicas. */
export interface KnownReplicas {
  /** This one too. */
  count(): number;
  /** Calls back when that may be another number. */
  onBeat(listener: () => void): void;
}

/**
 * Tells agents how many links this replica holds whenever that has doubled or halved since, so that they know over how
 * long to spread their return when they lose it. What a link costs by this is two messages in the mean, however many
 * there are. Also how many replicas there are, whenever that changes, so that those who miss one look for it. A replica that drains
 * says no more: those it loses last are no smaller crowd.
 */
export function tellCrowd(sessions: SessionRegistry, replicas: KnownReplicas): void {
  let told = 1;
  let toldReplicas = 0;
  const crowd = () => ({
    case: 'crowd' as const,
    value: { $typeName: 'fairlead.link.v1.Crowd' as const, links: sessions.all().length, replicas: replicas.count() },
  });
  const tellLater = tellInTurn(sessions, (session) => session.tell(crowd()));
  sessions.onChange(() => {
    const all = sessions.all();
    const same = all.length < 2 * told && 2 * all.length >= told;
    if (same || all.length === 0 || sessions.draining) return;
    told = all.length;
    for (const session of all) session.tell(crowd());
  });
  replicas.onBeat(() => {
    const count = replicas.count();
    if (count === toldReplicas || sessions.draining) return;
    toldReplicas = count;
    sessions.all().forEach(tellLater);
  });
}
