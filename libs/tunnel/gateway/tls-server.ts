import type { Server } from 'node:tls';
import { RateLimitedLog, clientAddressOf, type ReturningOffenders } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { CertificateSource } from './ports.js';

/** Applies each new certificate to new connections; those that stand are not touched. */
export function useCertificate(server: Server, certificate: CertificateSource): void {
  certificate.onChange(({ keyPem, chainPem, rootsPem }) => {
    server.setSecureContext({ key: keyPem, cert: chainPem.join('\n'), ca: [...rootsPem], minVersion: 'TLSv1.3' });
  });
}

/** Reports handshakes that failed, of each address as often as `RateLimitedLog` has it. `HandshakingConnections` ends their connections. */
export function reportTlsErrors(server: Server, logger: Logger): void {
  const lines = new RateLimitedLog();
  server.on('tlsClientError', (error, socket) => {
    const address = clientAddressOf(socket);
    const line = lines.next({ address });
    if (line) logger.info('tls.handshake.failed', { reason: error.message, address, ...line });
  });
}

/**
 * Of a server that insists on a certificate: who shows none has cost as much as any, and Node ends the connection at once, so that it may come
 * back at once. A handshake that only broke off is no offence: it is what a crowd does that has to wait. Node tells nobody a foreign certificate from one
 * of these.
 */
export function noteFailedHandshakes(server: Server, offenders: ReturningOffenders): void {
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code?.startsWith('ERR_SSL_')) offenders.note(clientAddressOf(socket));
  });
}
