import type { CaAuthority, CaRotation, CaStatus } from '@fairlead/contracts';
import { readCaCertificate, spkiPin } from '@fairlead/pki';
import type { EntityManager } from 'typeorm';
import type { HeldAuthority } from '../domain/authority.js';
import { stateSince } from '../store/authority-store.js';
import { otherCertificates, waitedClusters, type RotationStep } from '../store/waiting-store.js';
import type { Ca } from './load-ca.js';

/** What it takes to tell who is waited for. */
export interface WaitingView {
  readonly now: Date;
  /** How long after its end an agent's certificate is still renewed. */
  readonly recoveryWindowMs: number;
  /** Live replicas that hold an older version of the trust bundle. */
  readonly behind: (version: number) => CaRotation['gateways'];
}

const MAX_REPLICAS = 256;

export async function caStatus(manager: EntityManager, ca: Ca, view: WaitingView): Promise<CaStatus> {
  return {
    trustDomain: ca.authority.trustDomain,
    trustVersion: ca.bundle.version,
    authorities: ca.authority.members.map(toAuthority),
    rotation: await rotationOf(manager, ca, view),
  };
}

/** Null if no root is being rotated. */
export async function rotationOf(manager: EntityManager, ca: Ca, view: WaitingView): Promise<CaRotation | null> {
  const next = ca.authority.find('identity-root', 'next');
  const retiring = ca.authority.find('identity-root', 'retiring');
  const turning = next ?? retiring;
  if (!turning) return null;
  const step: RotationStep = next ? 'prepared' : 'activated';
  const { now, recoveryWindowMs, behind } = view;
  const endedBefore = new Date(now.getTime() - recoveryWindowMs);
  const waited = await waitedClusters(manager, step, { heldVersion: ca.bundle.version, endedBefore });
  const others = await otherCertificates(manager, now);
  return {
    step,
    since: ((await stateSince(manager, turning.id)) ?? now).toISOString(),
    clusters: waited.clusters,
    clustersDone: waited.clustersDone,
    waitingFor: waited.waitingFor.map(({ notAfter, ...row }) => ({
      ...row,
      why: step === 'prepared' ? 'unacknowledged' : 'old-certificate',
      waitedUntil: new Date(notAfter.getTime() + recoveryWindowMs).toISOString(),
    })),
    gateways: behind(ca.bundle.version).slice(0, MAX_REPLICAS),
    otherCertificates: others.count,
    otherCertificatesUntil: others.until?.toISOString() ?? null,
  };
}

function toAuthority(authority: HeldAuthority): CaAuthority {
  const { id, kind, state, certificatePem, privateKeyPem, notBefore, notAfter } = authority;
  return {
    id,
    tree: kind.startsWith('identity') ? 'identity' : 'serving',
    role: kind.endsWith('root') ? 'root' : 'issuing',
    // Those that are retired are not among the members.
    state: state === 'retired' ? 'retiring' : state,
    subject: readCaCertificate(certificatePem).subject,
    pin: spkiPin(certificatePem),
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    key: privateKeyPem === null ? 'offline' : 'sealed',
  };
}
