import { FairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { checkCsr, verifyProof, type CheckedCsr, type PeerCertificate } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import {
  enrolledAbove,
  findCertificate,
  keyWasRevoked,
  keyWasUsed,
  livesOfGateway,
  newestGeneration,
  tryLockCluster,
  tryLockGateway,
  type RecordedCertificate,
} from '../store/certificate-store.js';
import { generationRevocation, revocationOf } from '../store/revocation-store.js';
import type { CurrentEnrolment } from './cluster-watch.js';

/** By then registration has committed an enrolment that was signed for it, and told everybody, or has given it up. */
const SETTLED_SECONDS = 120;

/**
 * Certificates of one gateway that have not ended and were not revoked. It needs a few, and one that starts over and over some dozens; one in
 * wrong hands must not have more than agents from before fences can be told to turn away from (`MAX_REVOKED_GATEWAYS`), nor two of them.
 */
const LIVE_OF_GATEWAY = 120;
/** From here on the log tells of it: at the bound the replica is kept out when it starts again. */
const MANY_OF_GATEWAY = 60;

/** The request, if whoever made it has the key of the certificate it shows. CERTIFICATE_REFUSED, CSR_INVALID. */
export async function provenCsr(input: {
  readonly csr: string;
  readonly currentChain: readonly string[];
  readonly proof: string;
}): Promise<CheckedCsr> {
  const csrDer = Buffer.from(input.csr, 'base64');
  if (!(await verifyProof(input.currentChain[0]!, csrDer, Buffer.from(input.proof, 'base64')))) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the request is not signed by the key of the current certificate');
  }
  return checkCsr(csrDer);
}

/**
 * The certificate as it was recorded, if it is of the cluster's current enrolment, not revoked, and the key is a new one.
 * CERTIFICATE_REFUSED, CERTIFICATE_REVOKED, CSR_INVALID; RATE_LIMITED while somebody else decides about the cluster's certificates:
 * renewals that waited would take the database's connections from everybody.
 */
export async function checkCurrent(
  manager: EntityManager,
  clusterId: string,
  peer: PeerCertificate,
  csr: CheckedCsr,
  current: CurrentEnrolment,
): Promise<RecordedCertificate> {
  await lockUnlessBusy(manager, clusterId);
  const recorded = await findCertificate(manager, peer.serial);
  if (!recorded || recorded.clusterId !== clusterId) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'this certificate was never issued');
  }
  if (recorded.generation !== peer.generation || (await isFenced(manager, clusterId, recorded, current))) {
    throw new FairleadError('CERTIFICATE_REFUSED', 'the cluster has enrolled again since this certificate was issued');
  }
  if (await revocationOf(manager, recorded)) throw revoked('this certificate');
  if (await keyWasUsed(manager, clusterId, csr.spkiSha256)) {
    throw new FairleadError('CSR_INVALID', 'a renewal needs a fresh key');
  }
  return recorded;
}

/**
 * Did the cluster enrol again? A later enrolment that was signed here and never became registration's (an answer was lost in between)
 * does not count: when registration has the older one as the current one, and the later one is neither on its way nor in use.
 */
async function isFenced(
  manager: EntityManager,
  clusterId: string,
  { tenantId, generation }: RecordedCertificate,
  current: CurrentEnrolment,
): Promise<boolean> {
  if (generation === (await newestGeneration(manager, clusterId))) return false;
  if (generation === null || current(tenantId, clusterId) !== generation) return true;
  return enrolledAbove(manager, clusterId, generation, SETTLED_SECONDS);
}

/**
 * May this enrolment of the cluster have a certificate for the key of `csr`? CONFLICT if the cluster has a newer one;
 * CERTIFICATE_REVOKED if the enrolment is, or a certificate that this key had before: the token it came with may be shown again;
 * RATE_LIMITED as above.
 */
export async function checkEnrolment(
  manager: EntityManager,
  { clusterId, generation }: { readonly clusterId: string; readonly generation: number },
  csr: CheckedCsr,
): Promise<void> {
  await lockUnlessBusy(manager, clusterId);
  const newest = await newestGeneration(manager, clusterId);
  if (newest !== null && newest > generation) {
    throw new FairleadError('CONFLICT', 'the cluster has enrolled again since');
  }
  if (await generationRevocation(manager, clusterId, generation)) throw revoked('this enrolment');
  if (await keyWasRevoked(manager, clusterId, csr.spkiSha256)) throw revoked('a certificate of this key');
}

/**
 * After which second a new certificate of this gateway is to begin: those that were revoked began earlier, and so are told apart from it
 * without their numbers. Nobody else decides about the gateway's until the transaction ends. RATE_LIMITED if somebody does now, or if it
 * has as many that have not ended as one may have; the log is told from half of them on.
 */
export async function checkGateway(
  manager: EntityManager,
  gateway: string,
  now: Date,
  logger: Logger,
): Promise<{ after: Date | null }> {
  if (!(await tryLockGateway(manager, gateway))) {
    throw new FairleadError('RATE_LIMITED', 'another certificate of this gateway is being issued; try again');
  }
  const { live, lastRevoked } = await livesOfGateway(manager, gateway, now);
  if (live >= LIVE_OF_GATEWAY) {
    throw new FairleadError(
      'RATE_LIMITED',
      `${gateway} has ${LIVE_OF_GATEWAY} certificates that have not ended: find out why, then revoke them (fairlead certificate revoke gateway/${gateway})`,
    );
  }
  // Not of each refusal: who asks without an end is not to fill the log, and a replica that is kept out says so itself.
  if (live >= MANY_OF_GATEWAY) logger.warn('gateway.many_certificates', { gateway, live, atMost: LIVE_OF_GATEWAY });
  return { after: lastRevoked };
}

async function lockUnlessBusy(manager: EntityManager, clusterId: string): Promise<void> {
  if (await tryLockCluster(manager, clusterId)) return;
  throw new FairleadError('RATE_LIMITED', 'another certificate of this cluster is being issued; try again');
}

/** What is told to whoever holds it. */
function revoked(what: string): FairleadError {
  return new FairleadError(
    'CERTIFICATE_REVOKED',
    `${what} was revoked; the cluster comes back with a new import manifest`,
  );
}
