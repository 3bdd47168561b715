import type { AgentSession, SessionRegistry } from '@fairlead/tunnel/gateway';
import type { TrustReport } from './trust-report.js';
import type { TrustStore } from './trust-store.js';

/** Every agent that is told verifies, stores and answers: thousands of them are told over seconds, not in one moment. */
const TOLD_AT_ONCE = 50;
const PAUSE_MS = 100;

/** What the link server hears from agents of the bundle that they hold. */
export type OnTrustHeld = (session: AgentSession, version: number) => void;

/**
 * Tells each agent that holds an older trust bundle than this replica the newer one, once on each link, and reports those that
 * hold it. An agent speaks for the cluster of its certificate, and only of the version that is held here.
 */
export function tellTrust(trust: TrustStore, sessions: SessionRegistry, report: TrustReport): OnTrustHeld {
  const waiting = new Set<AgentSession>();
  let timer: NodeJS.Timeout | null = null;
  const tell = (): void => {
    timer = null;
    const { held } = trust;
    for (const session of [...waiting].slice(0, TOLD_AT_ONCE)) {
      waiting.delete(session);
      if (!held || session.closed || session.trustVersion >= held.version) continue;
      session.tellTrust({ $typeName: 'fairlead.link.v1.SignedTrust', ...wire(held.signed) });
    }
    if (waiting.size > 0) timer = setTimeout(tell, PAUSE_MS);
  };
  const look = (session: AgentSession): void => {
    if (session.trustVersion === trust.version) report.held(session.facts.clusterId, trust.version);
    if (session.trustVersion >= trust.version) return;
    waiting.add(session);
    // Not at once: a link that is new is to be welcomed first.
    timer ??= setTimeout(tell, 0);
  };
  trust.onChange(() => {
    for (const session of sessions.all()) look(session);
  });
  sessions.onChange((change, session) => {
    if (change === 'opened') look(session);
    else waiting.delete(session);
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
