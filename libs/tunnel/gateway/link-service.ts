import { randomUUID } from 'node:crypto';
import { createContextKey, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { NO_TENANT, keysRpc, registrationRpc, type ClusterEntry } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Http2Session } from '@fairlead/http2';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { AgentLinkService, ControlRequest, EnrolRequest, Hello, RenewRequest } from '@fairlead/proto';
import { LIMITS, PROTOCOL_VERSION } from '../core/index.js';
import { toConnectError } from '../link/index.js';
import { AgentSession } from './agent-session.js';
import type { Directory } from './directory.js';
import type { EnrolmentLimiter } from './enrolment-limiter.js';
import type { GatewayEvents } from './gateway-events.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { peerOf, requireAgent, type LinkPeer } from './link-peer.js';
import type { RenewingCertificate } from './renewing-certificate.js';
import type { SessionRegistry } from './session-registry.js';

export interface LinkServiceOptions {
  readonly gatewayId: string;
  readonly instance: string;
  readonly endpoints: readonly string[];
  readonly trustDomain: string;
  readonly identity: RenewingCertificate;
  readonly rpc: RpcClient;
  readonly directory: Directory;
  readonly registry: SessionRegistry;
  readonly limiter: EnrolmentLimiter;
  readonly events: GatewayEvents;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/** The HTTP/2 session a call came on; set by the link server. */
export const sessionKey = createContextKey<Http2Session | undefined>(undefined);

const HELLO_TIMEOUT_MS = 10_000;

/** The calls of AgentLinkService except Tunnel, which is not parsed as a call. */
export function createLinkService(options: LinkServiceOptions): Partial<ServiceImpl<typeof AgentLinkService>> {
  return {
    discover: () => discover(options),
    enrol: (request, context) => guarded(() => enrol(options, request, peerOf(context.values.get(sessionKey)))),
    renew: (request, context) => guarded(() => renew(options, request, peerOf(context.values.get(sessionKey)))),
    control: (requests, context) => control(options, requests, context),
  };
}

function discover({ endpoints, identity, trustDomain }: LinkServiceOptions) {
  return { endpoints: [...endpoints], rootsPem: [...(identity.current?.rootsPem ?? [])], trustDomain };
}

async function enrol(options: LinkServiceOptions, request: EnrolRequest, peer: LinkPeer) {
  const { rpc, limiter, metrics, logger, events } = options;
  try {
    limiter.admit(peer.address);
    const issued = await rpc.call(registrationRpc.enrol, NO_TENANT, {
      tokenId: request.tokenId,
      secret: Buffer.from(request.secret).toString('base64'),
      csr: Buffer.from(request.csrDer).toString('base64'),
      facts: {
        agentVersion: request.facts?.agentVersion ?? '',
        kubernetesVersion: request.facts?.kubernetesVersion ?? '',
        platform: request.facts?.platform ?? '',
      },
      remoteAddress: peer.address,
    });
    metrics.enrolments.inc({ outcome: 'ok' });
    logger.info('agent.enrolled', {
      clusterId: issued.clusterId,
      generation: issued.generation,
      address: peer.address,
    });
    const { clusterId, tenantId, generation, chain, roots } = issued;
    return { clusterId, tenantId, generation, chainPem: chain, rootsPem: roots };
  } catch (error) {
    const { code, message, kind } = toFairleadError(error);
    // What is away, or is asked too much already, is not the agent's failure.
    if (!kind.retryable) limiter.failed(peer.address);
    metrics.enrolments.inc({ outcome: code });
    logger.warn('agent.enrolment.refused', { code, reason: message, address: peer.address });
    // What registration refuses it records itself; these never reach it.
    if (code === 'INVALID_ARGUMENT' || code === 'RATE_LIMITED')
      events.accessRefused({ code, reason: message, address: peer.address, door: 'link' });
    throw error;
  }
}

async function renew({ rpc, directory, logger }: LinkServiceOptions, request: RenewRequest, peer: LinkPeer) {
  const agent = requireAgent(peer);
  // `keys` knows certificates, not clusters: that this one still exists only the directory tells.
  currentEnrolment(directory, agent);
  const issued = await rpc.call(keysRpc.renewAgent, NO_TENANT, {
    csr: Buffer.from(request.csrDer).toString('base64'),
    currentChain: request.currentChainPem,
    proof: Buffer.from(request.proof).toString('base64'),
  });
  logger.info('agent.renewed', { clusterId: agent.clusterId, notAfter: issued.notAfter });
  return { chainPem: issued.chain, rootsPem: issued.roots };
}

async function* control(options: LinkServiceOptions, requests: AsyncIterable<ControlRequest>, context: HandlerContext) {
  const http2 = context.values.get(sessionKey);
  const peer = peerOf(http2);
  let session: AgentSession | undefined;
  try {
    const incoming = requests[Symbol.asyncIterator]();
    const hello = await readHello(incoming);
    if (!http2) throw new FairleadError('UNAVAILABLE', 'the link ended before it began');
    session = admit(options, requireAgent(peer), hello, http2);
    void untilEnd(incoming).then(() => session && options.registry.remove(session));
    yield { message: { case: 'welcome' as const, value: welcome(options, session) } };
    for await (const message of session.messages()) yield { message };
  } catch (error) {
    const { code, message } = toFairleadError(error);
    options.logger.warn('agent.link.refused', { code, reason: message, address: peer.address });
    options.events.accessRefused({
      code,
      reason: message,
      address: peer.address,
      door: 'link',
      ...(peer.kind === 'agent' ? { clusterId: peer.clusterId } : {}),
    });
    throw toConnectError(error);
  } finally {
    if (session) options.registry.remove(session);
  }
}

/** May this agent have a session? The directory decides, from memory. */
function admit(
  options: LinkServiceOptions,
  agent: Extract<LinkPeer, { kind: 'agent' }>,
  hello: Hello,
  http2: Http2Session,
): AgentSession {
  const { directory, registry, identity } = options;
  if (hello.protocolVersion !== PROTOCOL_VERSION) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `this gateway speaks protocol ${PROTOCOL_VERSION}, the agent ${hello.protocolVersion}`,
    );
  }
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
      link: hello.link,
      remoteAddress: agent.address,
      connectedAtMs: Date.now(),
    },
    http2,
  );
  http2.once('close', () => registry.remove(session));
  registry.add(session);
  // Not before: what a stranger may make us hold is one default window.
  http2.setConnectionWindow(LIMITS.connectionWindowBytes);
  return session;
}

/** The cluster of this certificate; CERTIFICATE_REFUSED if it was deleted, or enrolled again since. */
function currentEnrolment(directory: Directory, agent: Extract<LinkPeer, { kind: 'agent' }>): ClusterEntry {
  const cluster = directory.clusterById(agent.clusterId);
  if (!cluster) throw new FairleadError('CERTIFICATE_REFUSED', 'the cluster of this certificate was deleted');
  const { generation } = agent.certificate;
  if (generation >= cluster.generation) return cluster;
  throw new FairleadError('CERTIFICATE_REFUSED', `enrolment ${generation} was replaced by ${cluster.generation}`);
}

function welcome({ instance, gatewayId }: LinkServiceOptions, session: AgentSession) {
  return {
    $typeName: 'fairlead.link.v1.Welcome' as const,
    gatewayInstance: instance,
    gatewayId,
    sessionId: session.facts.sessionId,
    protocolVersion: PROTOCOL_VERSION,
  };
}

async function readHello(incoming: AsyncIterator<ControlRequest>): Promise<Hello> {
  const late = AbortSignal.timeout(HELLO_TIMEOUT_MS);
  const first = await Promise.race([
    incoming.next(),
    new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(new FairleadError('DEADLINE_EXCEEDED', 'no Hello came in time')));
    }),
  ]);
  const message = first.done ? undefined : first.value.message;
  if (message?.case !== 'hello') throw new FairleadError('PROTOCOL_ERROR', 'the first message must be Hello');
  return message.value;
}

/**
 * Resolves when the agent ends its side, whichever way, or says Hello again, which breaks the protocol. Facts that come
 * later are only taken off the wire for now.
 */
async function untilEnd(incoming: AsyncIterator<ControlRequest>): Promise<void> {
  try {
    for (;;) {
      const next = await incoming.next();
      if (next.done || next.value.message.case === 'hello') return;
    }
  } catch {
    // The link broke; its session's 'close' tells the cause.
  }
}

async function guarded<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toConnectError(error);
  }
}
