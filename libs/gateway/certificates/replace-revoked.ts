import { X509Certificate } from 'node:crypto';
import type { Logger } from '@fairlead/observability';
import { readPeerCertificate } from '@fairlead/pki';
import type { RenewingCertificate } from './renewing-certificate.js';
import type { Revocations } from '../trust/revocations.js';

const WITHIN_MS = 1_000;

/**
 * Has this replica's own certificate renewed, with a fresh key, when it was revoked: somebody may have had a copy. A replica that should not get
 * another has lost its credential first.
 */
export function replaceRevoked(identity: RenewingCertificate, revocations: Revocations, logger: Logger): void {
  const look = (): void => {
    const [leaf] = identity.current?.chainPem ?? [];
    if (leaf === undefined) return;
    const peer = readPeerCertificate(new X509Certificate(leaf).raw);
    if (!revocations.has(peer)) return;
    logger.warn('certificate.revoked', { serial: peer.serial });
    identity.renewWithin(WITHIN_MS);
  };
  revocations.onChange(look);
  identity.onChange(look);
}
