import { randomUUID } from 'node:crypto';
import type { ClusterEntry } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Http2Session } from '@fairlead/http2';
import type { Logger } from '@fairlead/observability';
import type { Hello } from '@fairlead/proto';
import { LIMITS, agreeOnVersion } from '@fairlead/tunnel/core';
import {
  AgentSession,
  type CertificateSource,
  type ControlOutbox,
  type SessionRegistry,
} from '@fairlead/tunnel/gateway';
import type { Directory } from '../directory.js';
import type { Egress } from '../doors/egress/serve-egress.js';
import type { KnownReplicas } from '../sessions/tell-sessions.js';
import { peerOf, requireAgent, type LinkPeer } from './link-peer.js';
import { readPod } from './read-facts.js';

export interface AdmitOptions {
  readonly gatewayId: string;
  readonly instance: string;
  readonly identity: CertificateSource;
  readonly directory: Directory;
  readonly registry: SessionRegistry;
  readonly replicas: Pick<KnownReplicas, 'count'>;
  readonly logger: Logger;
  /** Absent: nothing goes out of clusters through this replica. */
  readonly egress?: Egress | undefined;
}

/**
 * May this agent have a session? The directory decides, from memory. Throws what the agent is to be told: UNAUTHENTICATED,
 * CERTIFICATE_REFUSED, CERTIFICATE_REVOKED, WRONG_CLUSTER, VERSION_UNSUPPORTED, UNAVAILABLE, or what `SessionRegistry.add` throws.
 */
export function admitLink(
  options: AdmitOptions,
  hello: Hello,
  http2: Http2Session,
  control: ControlOutbox,
): AgentSession {
  const { directory, registry, identity } = options;
  const agent = requireAgent(peerOf(http2));
  versionFor(hello);
  if (!directory.loaded || !identity.current || !directory.fresh) {
    throw new FairleadError('UNAVAILABLE', 'this replica has no snapshot that is fresh enough to admit an agent');
  }
  const cluster = currentEnrolment(directory, agent);
  if (hello.clusterId !== agent.clusterId) {
    throw new FairleadError('WRONG_CLUSTER', 'the certificate is of another cluster than the agent says it serves');
  }
  const session = new AgentSession(
    {
      sessionId: randomUUID(),
      tenantId: cluster.tenantId,
      clusterId: cluster.clusterId,
      generation: agent.certificate.generation,
      agentInstance: hello.agentInstance.slice(0, 64),
      agentVersion: (hello.facts?.agentVersion ?? '').slice(0, 64),
      link: hello.link,
      remoteAddress: agent.address,
      connectedAtMs: Date.now(),
    },
    http2,
    control,
    hello.trustVersion,
  );
  session.desiredRevision = Number(hello.desiredRevision);
  session.revocationsNumber = Number(hello.revocationsNumber);
  session.pod = readPod(hello.facts);
  http2.once('close', () => registry.remove(session));
  registry.add(session);
  // Not before: what the unauthenticated may make us hold is one default window.
  http2.setConnectionWindow(LIMITS.connectionWindowBytes);
  return session;
}

/** What is spoken with this agent. VERSION_UNSUPPORTED. */
function versionFor({ protocolVersion: newest, oldestProtocolVersion }: Hello): number {
  return agreeOnVersion({ newest, oldest: oldestProtocolVersion === 0 ? newest : oldestProtocolVersion });
}

/** The cluster of this certificate; CERTIFICATE_REFUSED if it was deleted, or enrolled again since; CERTIFICATE_REVOKED. */
export function currentEnrolment(directory: Directory, agent: Extract<LinkPeer, { kind: 'agent' }>): ClusterEntry {
  const cluster = directory.clusterById(agent.clusterId);
  if (!cluster) throw new FairleadError('CERTIFICATE_REFUSED', 'the cluster of this certificate was deleted');
  directory.revocations.assertNone(agent.certificate);
  const { generation } = agent.certificate;
  if (generation >= cluster.generation) return cluster;
  throw new FairleadError('CERTIFICATE_REFUSED', `enrolment ${generation} was replaced by ${cluster.generation}`);
}

/** Is it of an enrolment that counts, as far as this replica knows? One that knows nothing yet doubts nobody. */
export function countsHere(directory: Directory, agent: Extract<LinkPeer, { kind: 'agent' }>): boolean {
  if (!directory.loaded) return true;
  try {
    currentEnrolment(directory, agent);
    return true;
  } catch (error) {
    return toFairleadError(error).kind.retryable;
  }
}

/** What the agent is told once it is admitted. */
export function welcome(
  { instance, gatewayId, registry, replicas, egress }: AdmitOptions,
  session: AgentSession,
  hello: Hello,
) {
  return {
    $typeName: 'fairlead.link.v1.Welcome' as const,
    gatewayInstance: instance,
    gatewayId,
    sessionId: session.facts.sessionId,
    protocolVersion: versionFor(hello),
    links: registry.all().length,
    replicas: replicas.count(),
    egress: egress !== undefined,
  };
}
