import { FairleadError, messageOf } from '@fairlead/errors';
import { isRevokedGateway, readPeerCertificate, type PeerCertificate, type RevokedGateways } from '@fairlead/pki';
import type { GatewayConnection } from '@fairlead/tunnel/agent';

/** Connections to gateways that stand, to be ended when the certificate that one showed is revoked, also after that has ended, or cannot be read. */
export class StandingConnections {
  readonly #connections = new Set<GatewayConnection>();

  /** Until what it returns is disposed of. */
  add(connection: GatewayConnection): Disposable {
    this.#connections.add(connection);
    return { [Symbol.dispose]: () => void this.#connections.delete(connection) };
  }

  endRevoked(revoked: RevokedGateways): void {
    for (const connection of this.#connections) {
      const why = whyRefused(connection, revoked);
      if (why) connection.http2.destroy(why);
    }
  }
}

/**
 * The connection. It is closed, and this throws: UNTRUSTED_PEER if the certificate that the gateway showed is one of these, or cannot be read;
 * UNAVAILABLE if the connection has ended.
 */
export function unlessRevoked(connection: GatewayConnection, revoked: RevokedGateways): GatewayConnection {
  const why = whyRefused(connection, revoked);
  if (!why) return connection;
  connection[Symbol.dispose]();
  throw why;
}

/** By each connection, or why it cannot be read. Node by itself tells a client its peer's certificate once, and undefined from then on. */
const shownBy = new WeakMap<GatewayConnection, PeerCertificate | FairleadError>();

/** Of one that cannot be read nobody could tell whether it was revoked. */
function whyRefused(connection: GatewayConnection, revoked: RevokedGateways): FairleadError | null {
  const shown = shownBy.get(connection) ?? readShown(connection);
  shownBy.set(connection, shown);
  if (shown instanceof FairleadError) return shown;
  return isRevokedGateway(shown, revoked) ? revokedGateway() : null;
}

function readShown({ http2: { socket } }: GatewayConnection): PeerCertificate | FairleadError {
  try {
    const leaf = socket.getPeerX509Certificate();
    if (leaf) return readPeerCertificate(leaf.raw);
    if (socket.destroyed) return new FairleadError('UNAVAILABLE', 'the gateway closed the connection');
    return new FairleadError('UNTRUSTED_PEER', 'the gateway’s certificate cannot be read');
  } catch (error) {
    return new FairleadError('UNTRUSTED_PEER', messageOf(error), { cause: error });
  }
}

export function revokedGateway(): FairleadError {
  return new FairleadError('UNTRUSTED_PEER', 'the gateway’s certificate was revoked');
}
