import { X509Certificate, createPublicKey } from 'node:crypto';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import {
  createCsr,
  generatePrivateKey,
  parseToken,
  proveEnrolment,
  readPeerCertificate,
  sha256Hex,
  signProof,
  spkiPin,
  takesProof,
  verifyChain,
  type BootstrapToken,
} from '@fairlead/pki';
import { wireFacts, type AgentFacts, type GatewayConnection } from '@fairlead/tunnel/agent';
import { fromConnectError } from '@fairlead/tunnel/link';
import { AgentIdentity, saveInTurn, type IdentityStore } from './agent-identity.js';
import { storedTrust, withRoots } from './agent-trust.js';
import { connectToGateway } from './gateway-connection.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import { openSignedTrust } from './open-signed-trust.js';
import { afterBundle } from './known-endpoints.js';
import { isOwn, requireOwn } from './own-cluster.js';
import { highestFor, trustSince } from './trust-pace.js';

export interface EnrolOptions {
  readonly endpoint: Endpoint;
  readonly proxy: ProxySettings;
  /** The bootstrap token, as text; null: it asks to be adopted. */
  readonly token: string | null;
  /** Root pins from the import manifest; the token's own must be among them. Empty: the token's own counts alone. */
  readonly pins: readonly string[];
  /** Of the installation, from the import manifest; absent: whatever the gateway that proved its root is of. */
  readonly trustDomain?: string | undefined;
  /** The only cluster whose identity it takes; absent: whichever the control plane says it is. */
  readonly clusterId?: string | undefined;
  readonly store: IdentityStore;
  readonly facts: AgentFacts;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const RPC_TIMEOUT_MS = 15_000;
/** In the place of a token's id, for an agent that has none. */
const ADOPTION = 'adoption';

/**
 * Spends a bootstrap token for an identity. The order is what keeps the token safe: fetch the public discovery document,
 * find in it the root whose key hashes to the token's pin, dial again trusting only that root, and only then show
 * that it has the token. Which roots count from then on is taken from a bundle that the pinned root vouches for. TOKEN_MALFORMED, UNTRUSTED_PEER, UNAVAILABLE, or the control plane's refusal.
 */
export async function enrol(options: EnrolOptions): Promise<AgentIdentity> {
  const { endpoint, proxy, store, facts, logger, signal } = options;
  const token = options.token === null ? null : parseToken(options.token);
  const { rootsPem, trustDomain } = await discover(options, pinsToTrust(token, options.pins));
  const tokenId = token?.id ?? ADOPTION;
  const { keyPem, enrolled } = await keyFor(tokenId, options);
  if (enrolled) return enrolled;
  using connection = await connectToGateway({
    endpoint,
    proxy,
    signal,
    trust: { kind: 'roots', rootsPem, trustDomain },
  });
  const csrDer = await createCsr(keyPem);
  // Of a token that has to be sent whole, a gateway in wrong hands could make a key of its own the agent's: `token list` and
  // the events say which key spent it.
  logger.info('agent.enrolling', { tokenId, fingerprint: fingerprintOf(keyPem) });
  const request = { ...shown(token, csrDer), csrDer: new Uint8Array(csrDer), facts: wireFacts(facts) };
  const answer = await call(() => connection.rpc.enrol(request, { timeoutMs: RPC_TIMEOUT_MS, signal }));
  const { clusterId, generation, chainPem } = answer;
  const roots = await openSignedTrust(answer.trust, { rootsPem, trustDomain });
  const identity = await checked({
    clusterId,
    tokenId,
    generation,
    trustDomain,
    keyPem,
    chainPem,
    rootsPem: [...roots.rootsPem],
    trustVersion: roots.version,
    trustSince: trustSince({ trustVersion: 0 }, roots.version),
    ...(answer.trust ? { signedTrust: storedTrust(answer.trust) } : {}),
    revokedGateways: [...(roots.revokedGateways ?? [])],
    fencedGateways: [...(roots.fencedGateways ?? [])],
    ...afterBundle({}, roots),
  });
  requireOwn(identity, options.clusterId);
  notBehind(identity);
  const kept = await keep(identity, store);
  logger.info('agent.enrolled', { clusterId: kept.clusterId, generation: kept.generation });
  return kept;
}

/** Stores it, unless another pod got one with the same key and was earlier: one counts for all of them. */
function keep(identity: AgentIdentity, store: IdentityStore): Promise<AgentIdentity> {
  return saveInTurn(store, async ({ identity: stored, version }) => {
    const isSame = stored?.clusterId === identity.clusterId && stored.tokenId === identity.tokenId;
    if (isSame && stored.generation >= identity.generation) return stored;
    await store.saveIdentity(identity, version);
    return identity;
  });
}

/**
 * A certificate with a fresh key, asked for over a connection of its own; the old key signs for the new one. Resolves with what
 * is to change of the identity, which may be another by then. A trust bundle that cannot be verified is left out.
 */
export async function renew(
  connection: GatewayConnection,
  identity: AgentIdentity,
  logger: Logger,
  signal: AbortSignal,
): Promise<(identity: AgentIdentity) => AgentIdentity> {
  const keyPem = await generatePrivateKey();
  const csrDer = new Uint8Array(await createCsr(keyPem));
  const proof = new Uint8Array(await signProof(identity.keyPem, csrDer));
  const request = { csrDer, currentChainPem: [...identity.chainPem], proof };
  const answer = await call(() => connection.rpc.renew(request, { timeoutMs: RPC_TIMEOUT_MS, signal }));
  const { chainPem, trust } = answer;
  const held = { ...identity, highest: highestFor(identity) };
  const roots = await openSignedTrust(trust, held).catch((error: unknown) => {
    logger.error('trust.refused', { reason: messageOf(error), held: identity.trustVersion });
    return null;
  });
  const renewed = (now: AgentIdentity): AgentIdentity => ({
    ...(roots && trust ? withRoots(now, roots, trust) : now),
    // The same version too: the installer believes what was signed lately.
    ...(roots && trust && roots.version === now.trustVersion
      ? { signedTrust: storedTrust(trust), trustSince: trustSince(now, roots.version) }
      : {}),
    keyPem,
    chainPem,
  });
  await checked(renewed(identity));
  return renewed;
}

/**
 * That it was invited. The token's id alone decides how: nothing that a gateway says makes an agent send the secret of a token whose
 * registration takes proofs.
 */
function shown(
  token: BootstrapToken | null,
  csrDer: Uint8Array,
): { tokenId: string; secret?: Uint8Array<ArrayBuffer>; proof?: Uint8Array<ArrayBuffer> } {
  if (!token) return { tokenId: '' };
  if (takesProof(token.id)) return { tokenId: token.id, proof: proveEnrolment(token, csrDer) };
  return { tokenId: token.id, secret: new Uint8Array(token.secret) };
}

/** Roots that a gateway's chain may end in before this agent has an identity. UNTRUSTED_PEER if nothing says which. */
function pinsToTrust(token: BootstrapToken | null, pins: readonly string[]): readonly string[] {
  if (token && pins.length > 0 && !pins.includes(token.pin)) {
    throw new FairleadError(
      'UNTRUSTED_PEER',
      'the token belongs to another installation than the manifest: its pin is not among the root pins',
    );
  }
  if (token) return [token.pin];
  if (pins.length > 0) return pins;
  throw new FairleadError('UNTRUSTED_PEER', 'an agent without a token needs root pins to know whom to ask');
}

async function discover(
  options: EnrolOptions,
  pins: readonly string[],
): Promise<{ rootsPem: string[]; trustDomain: string }> {
  const { endpoint, proxy, signal } = options;
  using connection = await connectToGateway({ endpoint, proxy, signal, trust: { kind: 'discovery' } });
  const answer = await call(() => connection.rpc.discover({}, { timeoutMs: RPC_TIMEOUT_MS, signal }));
  const rootsPem = answer.rootsPem.map(onlyCertificate).filter((root) => root !== null && pins.includes(spkiPin(root)));
  if (rootsPem.length === 0) {
    const where = `${endpoint.host}:${endpoint.port}`;
    throw new FairleadError(
      'UNTRUSTED_PEER',
      `${where} showed no root that the bootstrap token or the root pins name; the token was not sent`,
    );
  }
  if (options.trustDomain !== undefined && answer.trustDomain !== options.trustDomain) {
    throw new FairleadError(
      'UNTRUSTED_PEER',
      `${endpoint.host}:${endpoint.port} is of another trust domain than ${options.trustDomain}, which the manifest names; the token was not sent`,
    );
  }
  return { rootsPem: rootsPem as string[], trustDomain: answer.trustDomain };
}

/**
 * The first certificate of a text, written anew: what an untrusted peer sends need not be a certificate, and a second one behind
 * a pinned one would be trusted with it.
 */
function onlyCertificate(pem: string): string | null {
  try {
    return new X509Certificate(pem).toString();
  } catch {
    return null;
  }
}

/**
 * What is stored decides whether this agent ever links again, so it must be whole: its own key and cluster, this enrolment, and
 * a chain that any gateway will verify. A gateway only carries it, and may have been taken over. PROTOCOL_ERROR, CERTIFICATE_REFUSED.
 */
async function checked(identity: AgentIdentity): Promise<AgentIdentity> {
  const { data, error } = AgentIdentity.safeParse(identity);
  if (!data)
    throw new FairleadError('PROTOCOL_ERROR', 'the gateway issued an identity that cannot be read', { cause: error });
  const { trustDomain } = data;
  const usage = 'clientAuth';
  const { id, spkiSha256, generation } = await verifyChain(data.chainPem, data.rootsPem, {
    at: new Date(),
    usage,
    trustDomain,
  });
  if (id.kind !== 'agent' || id.clusterId !== data.clusterId || spkiSha256 !== fingerprintOf(data.keyPem)) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the gateway issued a certificate for another key or cluster');
  }
  if (generation !== data.generation) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the gateway issued a certificate of another enrolment');
  }
  return data;
}

/** SHA-256 of the public key, hex: what administrators see of it. */
function fingerprintOf(keyPem: string): string {
  return sha256Hex(createPublicKey(keyPem).export({ type: 'spki', format: 'der' }));
}

/**
 * A new agent knows no version of the bundle yet, so that a gateway could hand it one from the middle of a rotation that is long over. What
 * `keys` certified says which one counted then. UNAVAILABLE: an honest replica may learn of it a moment later than `keys` issues by it.
 */
function notBehind({ chainPem: [leaf = ''], trustVersion }: AgentIdentity): void {
  const certified = readPeerCertificate(new X509Certificate(leaf).raw).trustVersion;
  if (trustVersion >= certified) return;
  const held = `the gateway handed on version ${trustVersion} of the trust bundle`;
  throw new FairleadError('UNAVAILABLE', `${held}, and the certificate was issued by version ${certified}`);
}

/**
 * The one key that the token is spent for: stored before it is shown, so that an agent that dies asks again with it, and so that the pods of
 * one agent all ask with the key of whichever was first. `enrolled`: one of them was through with it already.
 */
function keyFor(
  tokenId: string,
  { store, clusterId }: EnrolOptions,
): Promise<{ keyPem: string; enrolled: AgentIdentity | null }> {
  return saveInTurn(store, async ({ identity, pending, version }) => {
    if (pending?.tokenId === tokenId) return { keyPem: pending.keyPem, enrolled: null };
    if (identity?.tokenId === tokenId && isOwn(identity, clusterId)) {
      return { keyPem: identity.keyPem, enrolled: identity };
    }
    const keyPem = await generatePrivateKey();
    await store.savePending({ tokenId, keyPem }, version);
    return { keyPem, enrolled: null };
  });
}

async function call<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const failure = fromConnectError(error);
    throw new FairleadError(failure.code, failure.message === '' ? messageOf(error) : failure.message, {
      cause: error,
    });
  }
}
