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

/**
 * Tells agents how many links this replica holds whenever that has doubled or halved since, so that they know over how
 * long to spread their return when they lose it. What a link costs by this is two messages in the mean, however many
 * there are. A replica that drains says no more: those it loses last are no smaller crowd.
 */
export function tellCrowd(sessions: SessionRegistry): void {
  let told = 1;
  sessions.onChange(() => {
    const all = sessions.all();
    const same = all.length < 2 * told && 2 * all.length >= told;
    if (same || all.length === 0 || sessions.draining) return;
    told = all.length;
    const value = { $typeName: 'fairlead.link.v1.Crowd' as const, links: told };
    for (const session of all) session.tell({ case: 'crowd', value });
  });
}
