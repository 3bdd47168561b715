import type { Server } from 'node:tls';
import { RateLimitedLog, clientAddressOf } from '@fairlead/limits';
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
