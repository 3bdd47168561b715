import { connect as tlsConnect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { createClient } from '@connectrpc/connect';
import { FairleadError, messageOf } from '@fairlead/errors';
import { connectHttp2 } from '@fairlead/http2';
import { isRevokedGateway, readPeerCertificate, type RevokedGateways } from '@fairlead/pki';
import { AgentLinkService } from '@fairlead/proto';
import { rpcTransport } from '@fairlead/rpc';
import type { GatewayConnection } from '@fairlead/tunnel/agent';
import { LIMITS } from '@fairlead/tunnel/core';
import {
  EGRESS_PATH,
  TUNNEL_PATH,
  TUNNEL_SESSION_OPTIONS,
  fitStreamWindow,
  handshake,
  keepAlive,
  requestGrpcStream,
  type KeepaliveOptions,
} from '@fairlead/tunnel/link';
import { revokedGateway } from './standing-connections.js';
import { LINK_SERVER_NAME, dial, type Endpoint, type ProxySettings } from './forward-proxy.js';

/** How far the agent trusts what it dials. */
export type Trust =
  /** Only to fetch the public discovery document, which is then checked against a pin. Nothing secret is sent. */
  | { readonly kind: 'discovery' }
  /** The chain must end in one of these roots, and its leaf must be a gateway of the trust domain. No system roots. */
  | {
      readonly kind: 'roots';
      readonly rootsPem: readonly string[];
      readonly trustDomain: string;
      /** Certificates that are refused all the same. Absent: none. */
      readonly revoked?: RevokedGateways;
    };

export interface ClientIdentity {
  readonly keyPem: string;
  readonly chainPem: readonly string[];
}

export interface DialOptions {
  readonly endpoint: Endpoint;
  readonly proxy: ProxySettings;
  readonly trust: Trust;
  readonly identity?: ClientIdentity;
  readonly signal: AbortSignal;
  readonly keepalive?: KeepaliveOptions;
}

const DIAL_TIMEOUT_MS = 10_000;
/** Largest answer taken: before trust is established, anybody may be at the other end. */
const MAX_RPC_BYTES = 256 * 1024;

/** Dials, verifies, and speaks HTTP/2. UNAVAILABLE: not reached; UNTRUSTED_PEER: reached somebody else. */
export async function connectToGateway(options: DialOptions): Promise<GatewayConnection> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)]);
  const plain = await dial(options.endpoint, options.proxy, signal);
  const socket = await secure(plain, options, signal).catch((error: unknown) => {
    plain.destroy();
    throw error;
  });
  const authority = `https://${options.endpoint.host.includes(':') ? `[${options.endpoint.host}]` : options.endpoint.host}:${options.endpoint.port}`;
  const http2 = connectHttp2(socket, TUNNEL_SESSION_OPTIONS);
  http2.setConnectionWindow(LIMITS.connectionWindowBytes);
  keepAlive(http2, options.keepalive, fitStreamWindow(http2));
  return {
    rpc: createClient(AgentLinkService, rpcTransport(http2, authority, MAX_RPC_BYTES)),
    http2,
    tunnel: () => requestGrpcStream(http2, TUNNEL_PATH),
    egress: () => requestGrpcStream(http2, EGRESS_PATH),
    [Symbol.dispose]: () => {
      http2.destroy();
      // A connection that was reset while TLS was young does not always take its socket along.
      plain.destroy();
    },
  };
}

async function secure(plain: NodeJS.ReadWriteStream, options: DialOptions, signal: AbortSignal): Promise<TLSSocket> {
  const { trust, identity, endpoint } = options;
  const where = `${endpoint.host}:${endpoint.port}`;
  // Its failure shows as the end of the TLS connection; unheard, it would end the process.
  plain.on('error', () => undefined);
  const socket = tlsConnect({
    socket: plain as never,
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['h2'],
    // For balancers alone: who the gateway is, its identity says.
    servername: endpoint.serverName ?? LINK_SERVER_NAME,
    ...(identity ? { key: identity.keyPem, cert: identity.chainPem.join('\n') } : {}),
    ...(trust.kind === 'roots'
      ? {
          ca: [...trust.rootsPem],
          checkServerIdentity: (_: string, peer: PeerCertificate) => checkGateway(peer, trust),
        }
      : { rejectUnauthorized: false }),
  });
  try {
    await handshake(socket, signal, new FairleadError('UNAVAILABLE', `${where} closed the connection`));
  } catch (error) {
    if (signal.aborted) throw new FairleadError('UNAVAILABLE', `${where} did not answer in time`);
    throw asTrustError(error as Error, where);
  }
  if (socket.alpnProtocol === 'h2') return socket;
  socket.destroy();
  throw new FairleadError('UNTRUSTED_PEER', `${where} does not speak HTTP/2: it is no gateway, or TLS is intercepted`);
}

/** Runs only after the chain was verified against the pinned roots. */
function checkGateway(
  peer: PeerCertificate,
  { trustDomain, revoked = {} }: Extract<Trust, { kind: 'roots' }>,
): Error | undefined {
  try {
    const certificate = readPeerCertificate(peer.raw);
    const { id } = certificate;
    if (isRevokedGateway(certificate, revoked)) return revokedGateway();
    if (id.kind === 'gateway' && id.trustDomain === trustDomain) return undefined;
    return new FairleadError('UNTRUSTED_PEER', 'the certificate is valid but is not a gateway’s');
  } catch (error) {
    return new FairleadError('UNTRUSTED_PEER', messageOf(error), { cause: error });
  }
}

/** OpenSSL's verification codes, as far as they mean "somebody else". */
const NOT_TRUSTED =
  /^(?:SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|CERT_|ERR_TLS_CERT|INVALID_(?:CA|PURPOSE)|PATH_LENGTH)/;

function asTrustError(error: Error, where: string): FairleadError {
  if (error instanceof FairleadError) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (NOT_TRUSTED.test(code)) {
    const message = `${where} could not prove that it is a gateway of this installation (${code}); nothing secret was sent`;
    return new FairleadError('UNTRUSTED_PEER', message, { cause: error });
  }
  return new FairleadError('UNAVAILABLE', `TLS with ${where} failed: ${messageOf(error)}`, { cause: error });
}
