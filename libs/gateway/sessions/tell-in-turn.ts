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
