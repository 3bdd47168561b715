import { randomUUID } from 'node:crypto';
import { connect as netConnect, type Socket } from 'node:net';
import { connect as tlsConnect, type PeerCertificate as NodePeerCertificate, type TLSSocket } from 'node:tls';
import { startDeadline } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { connectHttp2, type Http2Session } from '@fairlead/http2';
import type { Logger } from '@fairlead/observability';
import { readPeerCertificate, type PeerCertificate } from '@fairlead/pki';
import { LIMITS } from '../../core/index.js';
import {
  DEFAULT_KEEPALIVE,
  RELAY_PATH,
  RELAY_SESSION_OPTIONS,
  TunnelConnection,
  fitStreamWindow,
  handshake,
  keepAlive,
  requestGrpcStream,
} from '../../link/index.js';
import type { CertificateSource, RevokedCertificates, TlsIdentity } from '../ports.js';
import type { RouteOwner } from '../routing/route-table.js';

const CONNECT_TIMEOUT_MS = 3_000;

/** A session and what the replica showed when it began: Node tells a client its peer's certificate once, and nothing from then on. */
interface RelaySession {
  readonly http2: Http2Session;
  readonly peer: PeerCertificate;
}

/** One HTTP/2 session to each replica that was ever relayed to, opened when first needed. */
export class RelayClient {
  readonly #identity: CertificateSource;
  readonly #trustDomain: string;
  readonly #logger: Logger;
  readonly #revoked: RevokedCertificates;
  readonly #sessions = new Map<string, Promise<RelaySession>>();

  constructor(identity: CertificateSource, trustDomain: string, revoked: RevokedCertificates, logger: Logger) {
    this.#identity = identity;
    this.#trustDomain = trustDomain;
    this.#revoked = revoked;
    this.#logger = logger;
    revoked.onChange(() => this.#endRevoked());
  }

  /** A tunnel stream to another replica, not opened yet. UNAVAILABLE if it cannot be reached, UNTRUSTED_PEER if it is not who it should be. */
  async tunnel(owner: RouteOwner): Promise<TunnelConnection> {
    const { http2 } = await this.#session(owner);
    try {
      return new TunnelConnection(requestGrpcStream(http2, RELAY_PATH), 'opener');
    } catch (error) {
      throw unreachable(owner, error as Error);
    }
  }

  close(): void {
    for (const session of this.#sessions.values()) {
      session.then(({ http2 }) => http2.destroy()).catch(() => undefined);
    }
  }

  /** Also those that are being opened, once they are. */
  #endRevoked(): void {
    for (const [key, opening] of this.#sessions) void this.#endIfRevoked(key, opening);
  }

  async #endIfRevoked(key: string, opening: Promise<RelaySession>): Promise<void> {
    // One that was not opened needs no end: whoever asked for it is told.
    const session = await opening.catch(() => null);
    if (!session || !this.#revoked.has(session.peer)) return;
    const { http2 } = session;
    this.#logger.warn('relay.revoked', { address: http2.socket.remoteAddress });
    // What is asked for from now on finds none, however long it takes to close.
    if (this.#sessions.get(key) === opening) this.#sessions.delete(key);
    http2.destroy();
  }

  async #session(owner: RouteOwner): Promise<RelaySession> {
    const key = `${owner.instance} ${owner.relayAddress}`;
    const known = this.#sessions.get(key);
    if (known) return known;
    const opening = this.#dial(owner);
    this.#sessions.set(key, opening);
    const forget = (): void => {
      if (this.#sessions.get(key) === opening) this.#sessions.delete(key);
    };
    opening.then(({ http2 }) => http2.once('close', forget).once('goaway', forget)).catch(forget);
    return opening;
  }

  async #dial(owner: RouteOwner): Promise<RelaySession> {
    const identity = this.#identity.current;
    if (!identity) throw new FairleadError('UNAVAILABLE', 'this replica has no certificate yet');
    const socket = await secure(plainSocket(owner), owner, identity, (certificate) => this.#check(owner, certificate));
    const peer = peerOf(socket, owner);
    const http2 = connectHttp2(socket, RELAY_SESSION_OPTIONS);
    http2.once('close', (cause) => {
      if (cause) this.#logger.debug('relay.session.error', { reason: cause.message });
    });
    http2.setConnectionWindow(LIMITS.connectionWindowBytes);
    keepAlive(http2, DEFAULT_KEEPALIVE, fitStreamWindow(http2));
    this.#logger.info('relay.connected', { replica: owner.credential, address: owner.relayAddress });
    return { http2, peer };
  }

  /** Runs only after the chain was verified. */
  #check(owner: RouteOwner, certificate: NodePeerCertificate): Error | undefined {
    try {
      const peer = readPeerCertificate(certificate.raw);
      const { id } = peer;
      const isMeant = id.kind === 'gateway' && id.name === owner.credential && id.trustDomain === this.#trustDomain;
      if (isMeant && !this.#revoked.has(peer)) return undefined;
      const why = isMeant
        ? `showed a certificate of ${owner.credential} that was revoked`
        : `is not ${owner.credential}`;
      return new FairleadError('UNTRUSTED_PEER', `the replica at ${owner.relayAddress} ${why}`);
    } catch (error) {
      return error as Error;
    }
  }
}

/** To be asked once, right after the handshake, as Node by itself tells it no second time. A session that nobody could judge later is none: UNTRUSTED_PEER. */
function peerOf(socket: TLSSocket, { credential, relayAddress }: RouteOwner): PeerCertificate {
  const leaf = socket.getPeerX509Certificate();
  if (leaf) return readPeerCertificate(leaf.raw);
  socket.destroy();
  throw new FairleadError('UNTRUSTED_PEER', `the replica at ${relayAddress} showed no certificate of ${credential}`);
}

function plainSocket({ relayAddress }: RouteOwner): Socket {
  const at = relayAddress.lastIndexOf(':');
  const host = relayAddress.slice(0, at).replace(/^\[|\]$/g, '');
  return netConnect({ host, port: Number(relayAddress.slice(at + 1)), noDelay: true, keepAlive: true });
}

/** TLS with the replica, verified to be the one that is meant. UNAVAILABLE or UNTRUSTED_PEER. */
async function secure(
  transport: Socket,
  owner: RouteOwner,
  identity: TlsIdentity,
  check: (certificate: NodePeerCertificate) => Error | undefined,
): Promise<TLSSocket> {
  const socket = tlsConnect({
    socket: transport,
    key: identity.keyPem,
    cert: identity.chainPem.join('\n'),
    ca: [...identity.rootsPem],
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
    // A name that nothing resolves: the SPIFFE identity is what counts, and each dial is a session of its own. By what comes after
    // the first dot a balancer knows the replica.
    servername: `${randomUUID()}.${owner.credential}.relay.invalid`,
    checkServerIdentity: (_name, certificate) => check(certificate),
  });
  // Its failure shows as the end of the TLS connection; unheard, it would end the process.
  transport.on('error', () => undefined);
  const late = (): Error => new Error('timed out');
  const deadline = startDeadline(new AbortController().signal, CONNECT_TIMEOUT_MS, late);
  try {
    await handshake(socket, deadline.signal);
    return socket;
  } catch (error) {
    transport.destroy();
    throw unreachable(owner, error as Error);
  } finally {
    deadline.clear();
  }
}

function unreachable(owner: RouteOwner, error: Error): FairleadError {
  if (error instanceof FairleadError) return error;
  return new FairleadError('UNAVAILABLE', `replica ${owner.credential} cannot be reached: ${messageOf(error)}`, {
    cause: error,
  });
}
