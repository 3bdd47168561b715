import { connectionState } from '@fairlead/messaging';
import type { SessionRegistry } from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Directory } from '../directory.js';
import type { Logger } from '@fairlead/observability';
import { peerOf } from '../link/link-peer.js';

/** A bucket that lost its data is filled again within a moment; a deletion lasts. */
const CERTAIN_AFTER_MS = 3_000;

/**
 * Ends the links of clusters that were deleted, and of enrolments that were replaced. Nothing is opened to a deleted cluster anyhow; of a replaced enrolment a link
 * is good until it is ended here. While NATS is away nothing is certain: it is looked at again until NATS is back.
 */
export function endOrphanedSessions(
  nc: NatsConnection,
  directory: Pick<Directory, 'clusterById' | 'onClusterChange'>,
  sessions: Pick<SessionRegistry, 'everyOf' | 'remove'>,
): void {
  const state = connectionState(nc);
  const endLater = (clusterId: string): void => void setTimeout(end, CERTAIN_AFTER_MS, clusterId).unref();
  const end = (clusterId: string): void => {
    if (!state.connected) return endLater(clusterId);
    const cluster = directory.clusterById(clusterId);
    for (const session of sessions.everyOf(clusterId)) {
      if (!cluster || session.facts.generation < cluster.generation) sessions.remove(session);
    }
  };
  directory.onClusterChange((clusterId) => {
    if (sessions.everyOf(clusterId).length > 0) endLater(clusterId);
  });
}

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
