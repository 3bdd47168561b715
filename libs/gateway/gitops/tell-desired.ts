import type { SignedDesiredState } from '@fairlead/proto';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';

/** Every agent that is told writes it down at its own cluster, and what it does not read yet is held here. */
const TOLD_AT_ONCE = 50;
const PAUSE_MS = 100;

/** Of `DesiredStates`, what is asked here. */
export interface WantedOfClusters {
  readonly certain: boolean;
  revisionOf(tenantId: string, clusterId: string): number;
  of(tenantId: string, clusterId: string): SignedDesiredState | null;
  onChange(listener: (clusterId: string) => void): void;
}

/**
 * Tells each agent what is wanted of its cluster: once it is linked, if it has another revision, and whenever it changes, signed
 * anew with the same revision too. An agent that has a newer one than this replica is told so only while that cannot be because
 * this replica lags behind; its installer takes no older one in any case.
 */
export function tellDesired(desired: WantedOfClusters, sessions: SessionRegistry): void {
  const waiting = new Set<AgentSession>();
  let timer: NodeJS.Timeout | null = null;
  const tell = (): void => {
    timer = null;
    for (const session of [...waiting].slice(0, TOLD_AT_ONCE)) {
      waiting.delete(session);
      const { tenantId, clusterId } = session.facts;
      const state = session.closed ? null : desired.of(tenantId, clusterId);
      if (!state) continue;
      session.desiredRevision = Number(state.revision);
      session.tellDesired(state);
    }
    if (waiting.size > 0) timer = setTimeout(tell, PAUSE_MS);
  };
  const add = (session: AgentSession): void => {
    waiting.add(session);
    // Not at once: a link that is new is to be welcomed first.
    timer ??= setTimeout(tell, 0);
  };
  desired.onChange((clusterId) => {
    for (const session of sessions.of(clusterId)) add(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'closed') waiting.delete(session);
    else if (hasAnother(desired, session)) add(session);
  });
}

function hasAnother(desired: WantedOfClusters, { facts, desiredRevision }: AgentSession): boolean {
  const wanted = desired.revisionOf(facts.tenantId, facts.clusterId);
  if (wanted === 0 || wanted === desiredRevision) return false;
  return wanted > desiredRevision || desired.certain;
}
