import type { Logger } from '@fairlead/observability';
import type { SessionRegistry } from '@fairlead/tunnel/gateway';
import type { Directory } from '../directory.js';
import { peerOf } from '../link/link-peer.js';

/** Ends links whose certificate is revoked, with every tunnel on them, as soon as this replica hears of it. */
export function endRevokedSessions(directory: Directory, sessions: SessionRegistry, logger: Logger): void {
  directory.revocations.onChange(() => {
    for (const session of sessions.all()) {
      const peer = peerOf(session.http2);
      if (peer.kind !== 'agent' || !directory.revocations.has(peer.certificate)) continue;
      const { clusterId, sessionId, generation } = session.facts;
      logger.warn('agent.revoked', { clusterId, sessionId, generation, serial: peer.certificate.serial });
      sessions.remove(session);
    }
  });
}
