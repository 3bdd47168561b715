import type { Server } from 'node:tls';
import { HTTP2_CODE, SessionError, type Http2Session } from '@fairlead/http2';
import {
  ConcurrencyLimit,
  HandshakingConnections,
  NetworkConcurrencyLimit,
  type ConcurrencyLimits,
  type NetworkConcurrencyLimits,
  type ReturningOffenders,
  noteUnauthenticatedEnd,
} from '@fairlead/limits';
import type { LinkPeer } from './link-peer.js';
import { UnauthenticatedBudgets, type UnauthenticatedBudget } from './unauthenticated-budget.js';

/** Connections without the certificate of an enrolment that counts: there for Discover, Enrol or Renew, which take a second or two. */
const UNAUTHENTICATED: NetworkConcurrencyLimits = { total: 2_000, perNetwork: 256 };
/** Connections that have not shown yet who they are: a fleet behind one address may come back all at once, with several links each. */
const HANDSHAKING: NetworkConcurrencyLimits = { total: 16_000, perNetwork: 8_192 };
/** Of one cluster: connections of its agents that are no link yet, or are there to renew. Several processes come at once, with several links each. */
const UNLINKED: ConcurrencyLimits = { total: Infinity, perKey: 64 };

type AgentPeer = Extract<LinkPeer, { kind: 'agent' }>;

export interface Bounds {
  /** Is this the certificate of an enrolment that counts here? A revoked or fenced one proves as much as none. */
  readonly counts: (peer: AgentPeer) => boolean;
  /** Calls back for each session that has become a link. */
  readonly onLinked: (listener: (session: Http2Session) => void) => void;
  readonly handshaking?: NetworkConcurrencyLimits;
  /** Told of the unauthenticated who were ended for what they sent. */
  readonly offenders?: ReturningOffenders;
}

/**
 * Bounds the connections of the agents' port that are no links, of the unauthenticated and of each cluster, so that nobody keeps agents out by
 * connecting; and what the unauthenticated send. Call what it returns for each new session: false, and the session is ended, for one too many.
 */
export function boundUnlinked(
  server: Server,
  { counts, onLinked, handshaking = HANDSHAKING, offenders }: Bounds,
): (session: Http2Session, peer: LinkPeer) => boolean {
  const [handshakes, unauthenticated] = [
    new HandshakingConnections(server, handshaking),
    new NetworkConcurrencyLimit(UNAUTHENTICATED),
  ];
  const unlinked = new ConcurrencyLimit(UNLINKED);
  const budgets = new UnauthenticatedBudgets();
  const held = new WeakMap<Http2Session, () => void>();
  onLinked((session) => {
    held.get(session)?.();
    session.setAllowance(null);
  });
  return (session, peer) => {
    // Its handshake is over; whether that shows who it is comes next.
    handshakes.admit(session.socket);
    const isAgent = peer.kind === 'agent' && counts(peer);
    const giveBack = isAgent ? unlinked.take(peer.clusterId) : unauthenticated.take(peer.address);
    if (!giveBack) {
      if (!isAgent) noteUnauthenticatedEnd();
      session.destroy();
      return false;
    }
    if (!isAgent) {
      boundRequests(session, budgets.of(peer.address));
      session.once('ending', (cause) => {
        if (!(cause instanceof SessionError)) return;
        offenders?.note(peer.address);
        noteUnauthenticatedEnd();
      });
    }
    held.set(session, giveBack);
    session.once('close', giveBack);
    return true;
  };
}

function boundRequests(session: Http2Session, budget: UnauthenticatedBudget): void {
  session.setAllowance(budget);
  session.on('stream', () => {
    if (budget.mayCall()) return;
    const cause = new SessionError(
      HTTP2_CODE.enhanceYourCalm,
      'a peer that has not shown who it is asks more than any honest one',
      'unauthenticated-calls',
    );
    session.destroy(cause, cause.code);
  });
}
