import { FairleadError } from '@fairlead/errors';
import type { CheckedCsr, PeerCertificate } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import {
  findCertificate,
  keyWasUsed,
  lockCluster,
  newestGeneration,
  type RecordedCertificate,
} from '../store/certificate-store.js';
import { revocationOf } from '../store/revocation-store.js';

/**
 * The certificate as it was recorded, if it is of the cluster's current enrolment, not revoked, and the key is a new one.
 * CERTIFICATE_REFUSED, CERTIFICATE_REVOKED, CSR_INVALID.
 */
export async function checkCurrent(
  manager: EntityManager,
  clusterId: string,
  peer: PeerCertificate,
  csr: CheckedCsr,
): Promise<RecordedCertificate> {
  await lockCluster(manager, clusterId);
  const recorded = await findCertificate(manager, peer.serial);
  if (!recorded || recorded.clusterId !== clusterId) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'this certificate was never issued');
  }
  if (recorded.generation !== peer.generation || recorded.generation !== (await newestGeneration(manager, clusterId))) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the cluster has enrolled again since this certificate was issued');
  }
  if (await revocationOf(manager, recorded)) throw revoked('this certificate');
  if (await keyWasUsed(manager, clusterId, csr.spkiSha256)) {
    throw new FairleadError('CSR_INVALID', 'a renewal needs a fresh key');
  }
  return recorded;
}

/** What is told to whoever holds it. */
export function revoked(what: string): FairleadError {
  return new FairleadError(
    'CERTIFICATE_REVOKED',
    `${what} was revoked; the cluster comes back with a new import manifest`,
  );
}
