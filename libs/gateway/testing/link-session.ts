import { EventEmitter } from 'node:events';
import type { Http2Session } from '@fairlead/http2';
import { AgentSession, type ControlOutbox, type SessionRegistry } from '@fairlead/tunnel/gateway';

interface Linked {
  readonly clusterId: string;
  readonly trustVersion?: number;
  readonly desiredRevision?: number;
  readonly revocationsNumber?: number;
  /** What the agent is told. */
  readonly tell: ControlOutbox['tell'];
}

/** A link of an agent whose connection is not there, as it says Hello. */
export function linkSession(sessions: SessionRegistry, linked: Linked): AgentSession {
  const { clusterId, trustVersion = 0, desiredRevision = 0, revocationsNumber = 0, tell } = linked;
  const outbox: ControlOutbox = { say: () => undefined, askForTunnels: () => undefined, tell };
  const sessionId = `${clusterId}-${Math.random()}`;
  const facts = {
    sessionId,
    tenantId: 'default',
    clusterId,
    generation: 1,
    agentInstance: sessionId,
    link: 0,
    remoteAddress: '',
    connectedAtMs: 0,
  };
  const http2 = Object.assign(new EventEmitter(), { destroy: () => undefined }) as unknown as Http2Session;
  const session = new AgentSession(facts, http2, outbox, trustVersion);
  session.desiredRevision = desiredRevision;
  session.revocationsNumber = revocationsNumber;
  sessions.add(session);
  return session;
}
