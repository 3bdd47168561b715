import type { Server } from 'node:tls';
import type { Logger } from '@fairlead/observability';
import type { CertificateSource } from './ports.js';

/** Applies each new certificate to new connections; those that stand are not touched. */
export function useCertificate(server: Server, certificate: CertificateSource): void {
  certificate.onChange(({ keyPem, chainPem, rootsPem }) => {
    server.setSecureContext({ key: keyPem, cert: chainPem.join('\n'), ca: [...rootsPem], minVersion: 'TLSv1.3' });
  });
}

/** Reports handshakes that failed, and ends their connections: Node leaves one open whose handshake took too long. */
export function reportTlsErrors(server: Server, logger: Logger): void {
  server.on('tlsClientError', (error, socket) => {
    logger.info('tls.handshake.failed', { reason: error.message, address: socket.remoteAddress });
    socket.destroy();
  });
}
