import type { CaRotation } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** How many of each kind a message names. */
const NAMED = 3;

/** Nobody would be cut off by the next step. */
export function isDone(rotation: CaRotation): boolean {
  const { clusters, clustersDone, gateways, otherCertificates } = rotation;
  return clusters === clustersDone && gateways.length === 0 && otherCertificates === 0;
}

/** CONFLICT that names who is waited for, and what to do. */
export function refuseStep(step: 'activate' | 'retire', version: number, rotation: CaRotation): FairleadError {
  const parts = [waitedClusters(rotation), waitedReplicas(version, rotation), waitedCertificates(rotation)];
  const whom = parts.filter((part) => part !== null).join('; ');
  const next = `wait and look at \`fairlead ca status\`, or cut them off with \`fairlead ca ${step} --force\``;
  return new FairleadError('CONFLICT', `${step} would cut off ${whom}: ${next}`);
}

function waitedClusters({ clusters, clustersDone, waitingFor, step }: CaRotation): string | null {
  const waiting = clusters - clustersDone;
  if (waiting === 0) return null;
  const why =
    step === 'prepared'
      ? 'whose agents have not said that they know the next root'
      : 'with a certificate of the old root';
  const names = waitingFor.map(({ clusterId }) => clusterId);
  return `${waiting} of ${clusters} clusters ${why} (${some(names, waiting)})`;
}

function waitedReplicas(version: number, { gateways }: CaRotation): string | null {
  if (gateways.length === 0) return null;
  const names = gateways.map(({ credential, heldVersion }) => `${credential} has ${heldVersion}`);
  return `replicas without version ${version} of the trust bundle: ${gateways.length} (${some(names, gateways.length)})`;
}

function waitedCertificates({ otherCertificates, otherCertificatesUntil }: CaRotation): string | null {
  if (otherCertificates === 0) return null;
  return `certificates of clients and gateways by the old root: ${otherCertificates}, the last one until ${otherCertificatesUntil}`;
}

function some(names: readonly string[], count: number): string {
  return [...names.slice(0, NAMED), ...(count > NAMED ? ['…'] : [])].join(', ');
}
