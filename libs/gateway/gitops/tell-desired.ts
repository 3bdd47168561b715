import type { SignedDesiredState } from '@fairlead/proto';
import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { tellInTurn } from '../sessions/tell-in-turn.js';

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
  const tellLater = tellInTurn(sessions, (session) => {
    const state = desired.of(session.facts.tenantId, session.facts.clusterId);
    if (!state) return;
    session.desiredRevision = Number(state.revision);
    session.tellDesired(state);
  });
  desired.onChange((clusterId) => {
    for (const session of sessions.of(clusterId)) tellLater(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'opened' && hasAnother(desired, session)) tellLater(session);
  });
}

function hasAnother(desired: WantedOfClusters, { facts, desiredRevision }: AgentSession): boolean {
  const wanted = desired.revisionOf(facts.tenantId, facts.clusterId);
  if (wanted === 0 || wanted === desiredRevision) return false;
  return wanted > desiredRevision || desired.certain;
}
