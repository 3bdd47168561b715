import { FairleadError } from '@fairlead/errors';
import { readPeerCertificate } from '@fairlead/pki';
import type { GatewayConnection } from '@fairlead/tunnel/agent';

/** Connections to gateways that stand, to be ended when the certificate that one showed is revoked. */
export class StandingConnections {
  readonly #connections = new Set<GatewayConnection>();

  /** Until what it returns is disposed of. */
  add(connection: GatewayConnection): Disposable {
    this.#connections.add(connection);
    return { [Symbol.dispose]: () => void this.#connections.delete(connection) };
  }

  endRevoked(serials: readonly string[]): void {
    if (serials.length === 0) return;
    for (const { http2 } of this.#connections) {
      const leaf = http2.socket.getPeerX509Certificate();
      if (leaf && serials.includes(readPeerCertificate(leaf.raw).serial)) http2.destroy(revokedGateway());
    }
  }
}

export function revokedGateway(): FairleadError {
  return new FairleadError('UNTRUSTED_PEER', 'the gateway’s certificate was revoked');
}
