import { X509Certificate } from 'node:crypto';
import { createContextKey, type ServiceImpl } from '@connectrpc/connect';
import { NO_TENANT, keysRpc, registrationRpc } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Http2Session, Http2Stream } from '@fairlead/http2';
import { KeyedRateLimit, RateLimitedLog, type Rate } from '@fairlead/limits';
import type { RpcClient } from '@fairlead/messaging';
import { ENROLMENT_PROOF_BYTES, readPeerCertificate } from '@fairlead/pki';
import type { AgentLinkService, EnrolRequest, RenewRequest } from '@fairlead/proto';
import { toConnectError } from '@fairlead/tunnel/link';
import { currentEnrolment, type AdmitOptions } from './admit-link.js';
import type { EnrolmentLimiter, Settle } from './enrolment-limiter.js';
import type { GatewayEvents } from '../reporting/gateway-events.js';
import type { GatewayMetrics } from '../status/gateway-metrics.js';
import { peerOf, type LinkPeer } from './link-peer.js';
import type { Directory } from '../directory.js';
import { fetchBundle, bundleLimits } from '../gitops/fetch-bundle.js';
import type { OnReport } from '../gitops/report-forwarder.js';
import { wireTrust, type OnTrustHeld } from '../trust/trust-report.js';
import type { OnFacts } from './control-call.js';
import { readFacts } from './read-facts.js';

export interface LinkServiceOptions extends AdmitOptions {
  readonly endpoints: readonly string[];
  readonly trustDomain: string;
  readonly rpc: RpcClient;
  readonly limiter: EnrolmentLimiter;
  readonly events: GatewayEvents;
  readonly metrics: GatewayMetrics;
  readonly onTrustHeld: OnTrustHeld;
  readonly onReport: OnReport;
  readonly onFacts: OnFacts;
}

/**
 * Of one cluster that proved itself, at one replica: each is a signature and a row at `keys`. Certificates that live for ten
 * seconds, as in a test, still get by.
 */
const RENEWALS: Rate = { burst: 5, perSecond: 0.2 };

interface RateLimitedOptions extends LinkServiceOptions {
  readonly lines: RateLimitedLog;
}

/** The HTTP/2 session a call came on; set by the link server. */
export const sessionKey = createContextKey<Http2Session | undefined>(undefined);
/** The stream of a call, whose end is the end of its answer. */
export const streamKey = createContextKey<Http2Stream | undefined>(undefined);

/** The calls of AgentLinkService that are one question and one answer. */
export function createLinkService(options: LinkServiceOptions): Partial<ServiceImpl<typeof AgentLinkService>> {
  const rateLimited = { ...options, lines: new RateLimitedLog() };
  const renewals = new KeyedRateLimit(RENEWALS);
  const bundles = bundleLimits();
  return {
    discover: () => discover(options),
    enrol: (request, context) => guarded(() => enrol(rateLimited, request, peerOf(context.values.get(sessionKey)))),
    renew: (request, context) =>
      guarded(() => renew(rateLimited, renewals, request, peerOf(context.values.get(sessionKey)))),
    fetchBundle: (request, context) =>
      guarded(() => {
        const [http2, stream] = [context.values.get(sessionKey), context.values.get(streamKey)];
        return fetchBundle(options, bundles, request, http2, stream);
      }),
  };
}

/** Where to dial is what the trust bundle names, or else what the configuration does. */
function discover({ endpoints, identity, trustDomain, directory }: LinkServiceOptions) {
  const named = (directory.trust.held?.endpoints ?? []).filter(({ state }) => state === 'active');
  const known = named.length > 0 ? named.map(({ address }) => address) : endpoints;
  return { endpoints: [...known], rootsPem: [...(identity.current?.rootsPem ?? [])], trustDomain };
}

async function enrol(options: RateLimitedOptions, request: EnrolRequest, peer: LinkPeer) {
  const { rpc, limiter, metrics, logger, events, lines } = options;
  let settle: Settle = () => undefined;
  try {
    // Whoever has a token has been invited; anybody may ask to be adopted, so that costs them time.
    if (request.tokenId === '') limiter.admitUninvited(peer.address);
    settle = limiter.admit(peer.address, request.tokenId || null);
    // Asked before the token is spent: an agent takes no identity without roots that it can verify.
    trustOf(options.directory);
    const issued = await rpc.call(registrationRpc.enrol, NO_TENANT, {
      tokenId: request.tokenId === '' ? null : request.tokenId,
      ...shownBy(request),
      csr: Buffer.from(request.csrDer).toString('base64'),
      facts: readFacts(request.facts),
      remoteAddress: peer.address,
    });
    settle();
    metrics.enrolments.inc({ outcome: 'ok' });
    logger.info('agent.enrolled', {
      clusterId: issued.clusterId,
      generation: issued.generation,
      address: peer.address,
    });
    const { clusterId, tenantId, generation, chain } = issued;
    return { clusterId, tenantId, generation, chainPem: chain, trust: trustOf(options.directory) };
  } catch (error) {
    const { code, message, kind } = toFairleadError(error);
    settle(code);
    metrics.enrolments.inc({ outcome: code });
    const line = lines.next({ address: peer.address });
    if (line) {
      logger.log(kind.logLevel, 'agent.enrolment.refused', { code, reason: message, address: peer.address, ...line });
    }
    // What registration refuses it records itself; this never reaches it. A flood is counted, and fills no log of events.
    if (code === 'INVALID_ARGUMENT')
      events.accessRefused({ code, reason: message, address: peer.address, door: 'link' });
    throw error;
  }
}

/** Empty: the agent has none. */
const TOKEN_ID = /^[A-Za-z0-9-]{0,64}$/;

/** The token's secret, or a proof in its place; the empty secret of an agent without a token. INVALID_ARGUMENT. */
function shownBy({ tokenId, secret, proof }: EnrolRequest): { secret: string } | { proof: string } {
  // Before it reaches a log, an event or a database.
  if (!TOKEN_ID.test(tokenId)) throw new FairleadError('INVALID_ARGUMENT', 'this is no id of a token');
  if (proof.length === 0 && secret.length <= ENROLMENT_PROOF_BYTES) {
    return { secret: Buffer.from(secret).toString('base64') };
  }
  if (proof.length === ENROLMENT_PROOF_BYTES && secret.length === 0 && tokenId !== '') {
    return { proof: Buffer.from(proof).toString('base64') };
  }
  throw new FairleadError('INVALID_ARGUMENT', 'an enrolment shows the secret of its token, or one proof of 64 bytes');
}

async function renew(options: RateLimitedOptions, renewals: KeyedRateLimit, request: RenewRequest, peer: LinkPeer) {
  if (peer.kind === 'agent') {
    if (claimedAgent(request, peer.address).clusterId !== peer.clusterId) {
      throw new FairleadError('WRONG_CLUSTER', 'an agent renews its own certificate only');
    }
    // First: whoever holds a certificate that is worth nothing any more takes no turn of who has one.
    currentEnrolment(options.directory, peer);
    if (!renewals.take(peer.clusterId, performance.now())) {
      throw new FairleadError('RATE_LIMITED', 'this cluster’s certificate is renewed too often; wait a moment');
    }
    return renewFor(options, request, peer);
  }
  // An agent that was away for longer than its certificate lived: `keys` decides by its key's proof.
  const { limiter, logger, lines } = options;
  const settle = limiter.admit(peer.address, 'renewal');
  try {
    const renewed = await renewFor(options, request, claimedAgent(request, peer.address));
    settle();
    return renewed;
  } catch (error) {
    const { code, message } = toFairleadError(error);
    settle(code);
    const line = lines.next({ address: peer.address });
    if (line) logger.warn('agent.renewal.refused', { code, reason: message, address: peer.address, ...line });
    // Whether a cluster exists, was enrolled again or revoked is for nobody who has not proved to be its agent.
    if (!ONE_ANSWER.has(code)) throw error;
    throw new FairleadError('CERTIFICATE_REFUSED', NOT_RENEWED, { cause: error });
  }
}

const NOT_RENEWED =
  'this certificate is not renewed: it is of no enrolment that counts here, or ended too long ago; import the cluster again: fairlead cluster import <name>';
/** What depends on the claimed certificate, and is one answer to somebody whose certificate nobody has verified. */
const ONE_ANSWER: ReadonlySet<string> = new Set([
  'CERTIFICATE_REFUSED',
  'CERTIFICATE_REVOKED',
  'CSR_INVALID',
  'INVALID_ARGUMENT',
]);

/** Whose the certificate is that is to be renewed. Nobody has checked that it is one of ours, or whose key it is. */
function claimedAgent({ currentChainPem: [leaf = ''] }: RenewRequest, address: string): LinkPeer & { kind: 'agent' } {
  try {
    const certificate = readPeerCertificate(new X509Certificate(leaf).raw);
    if (certificate.id.kind === 'agent')
      return { kind: 'agent', address, clusterId: certificate.id.clusterId, certificate };
  } catch (cause) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the current certificate cannot be read', { cause });
  }
  throw new FairleadError('CERTIFICATE_REFUSED', 'only agents renew their certificates');
}

async function renewFor(
  { rpc, directory, logger }: LinkServiceOptions,
  request: RenewRequest,
  agent: LinkPeer & { kind: 'agent' },
) {
  // `keys` knows certificates, not clusters: that this one still exists only the directory tells.
  currentEnrolment(directory, agent);
  trustOf(directory);
  const issued = await rpc.call(keysRpc.renewAgent, NO_TENANT, {
    csr: Buffer.from(request.csrDer).toString('base64'),
    currentChain: request.currentChainPem,
    proof: Buffer.from(request.proof).toString('base64'),
  });
  logger.info('agent.renewed', { clusterId: agent.clusterId, notAfter: issued.notAfter });
  return { chainPem: issued.chain, trust: trustOf(directory) };
}

/** As `keys` signed it. UNAVAILABLE while this replica has none. */
function trustOf({ trust }: Directory) {
  if (!trust.held) throw new FairleadError('UNAVAILABLE', 'this replica has no trust bundle yet');
  return wireTrust(trust.held.signed);
}

async function guarded<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toConnectError(error);
  }
}
