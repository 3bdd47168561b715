import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import { tellInTurn } from '../sessions/tell-in-turn.js';
import type { TrustReport } from './trust-report.js';
import type { TrustStore } from './trust-store.js';

/** What the link server hears from agents of the bundle that they hold. */
export type OnTrustHeld = (session: AgentSession, version: number) => void;

/**
 * Tells each agent that holds an older trust bundle than this replica the newer one, once on each link, and reports those that
 * hold it. An agent speaks for the cluster of its certificate, and only of the version that is held here.
 */
export function tellTrust(trust: TrustStore, sessions: SessionRegistry, report: TrustReport): OnTrustHeld {
  const tellLater = tellInTurn(sessions, (session) => {
    const { held } = trust;
    if (!held || session.trustVersion >= held.version) return;
    session.tellTrust({ $typeName: 'fairlead.link.v1.SignedTrust', ...wire(held.signed) });
  });
  const look = (session: AgentSession): void => {
    if (session.trustVersion === trust.version) report.held(session.facts.clusterId, trust.version);
    if (session.trustVersion < trust.version) tellLater(session);
  };
  trust.onChange(() => {
    for (const session of sessions.all()) look(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'opened') look(session);
  });
  return (session, version) => {
    if (version !== trust.version) return;
    session.trustVersion = version;
    look(session);
  };
}

function wire({ bundle, signerChainPem, signature }: NonNullable<TrustStore['held']>['signed']) {
  return { bundle, signerChainPem: [...signerChainPem], signature };
}
