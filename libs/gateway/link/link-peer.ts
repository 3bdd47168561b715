import type { TLSSocket } from 'node:tls';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Http2Session } from '@fairlead/http2';
import { isOutOfDate, readPeerCertificate, type PeerCertificate } from '@fairlead/pki';
import { clientAddressOf } from '@fairlead/limits';

/** Who is at the other end of a TLS connection to the agent link. */
export type LinkPeer =
  | { readonly kind: 'anonymous'; readonly address: string }
  | {
      readonly kind: 'agent';
      readonly address: string;
      readonly clusterId: string;
      readonly certificate: PeerCertificate;
    }
  /** It showed a certificate that counts for nothing here. */
  | { readonly kind: 'refused'; readonly address: string; readonly why: string };

const peers = new WeakMap<Http2Session, LinkPeer>();

/** Reads the peer once, when its session begins. Only a certificate of this trust domain counts, whatever root it leads to. */
export function rememberPeer(session: Http2Session, trustDomain: string): LinkPeer {
  const peer = identify(session.socket, trustDomain);
  peers.set(session, peer);
  return peer;
}

export function peerOf(session: Http2Session | undefined): LinkPeer {
  return (session && peers.get(session)) ?? { kind: 'refused', address: '', why: 'the session is gone' };
}

function identify(socket: TLSSocket, trustDomain: string): LinkPeer {
  const address = clientAddressOf(socket);
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { kind: 'anonymous', address };
  if (!socket.authorized) {
    return {
      kind: 'refused',
      address,
      why: `the client certificate is not valid: ${String(socket.authorizationError)}`,
    };
  }
  try {
    const peer = readPeerCertificate(certificate.raw);
    // A resumed TLS session was verified when it began, not now.
    if (isOutOfDate(peer)) return { kind: 'refused', address, why: 'the client certificate has expired' };
    if (peer.id.kind !== 'agent') return { kind: 'refused', address, why: 'the certificate is not an agent’s' };
    if (peer.id.trustDomain !== trustDomain) {
      return { kind: 'refused', address, why: `the certificate is of another trust domain than ${trustDomain}` };
    }
    return { kind: 'agent', address, clusterId: peer.id.clusterId, certificate: peer };
  } catch (error) {
    return { kind: 'refused', address, why: messageOf(error) };
  }
}

/** The agent at the other end, or UNAUTHENTICATED. */
export function requireAgent(peer: LinkPeer): Extract<LinkPeer, { kind: 'agent' }> {
  if (peer.kind === 'agent') return peer;
  const why = peer.kind === 'refused' ? peer.why : 'this call needs a client certificate';
  throw new FairleadError(peer.kind === 'refused' ? 'CERTIFICATE_REFUSED' : 'UNAUTHENTICATED', why);
}
