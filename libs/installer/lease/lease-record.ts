import type { KubeObject, ObjectRef } from '@fairlead/kube/rest';
import { LABELS, OWN, OWNER } from '../names.js';

/** Who may act in a cluster, as its Lease says. */
export interface LeaseRecord {
  /** Empty: nobody. */
  readonly holder: string;
  /** RFC 3339, with microseconds: the API server takes nothing else. */
  readonly acquireTime: string | null;
  readonly renewTime: string | null;
  readonly durationSeconds: number;
  /** How often it changed hands. */
  readonly transitions: number;
  /** Of the Lease that says so. */
  readonly resourceVersion: string;
}

export type LeaseContents = Omit<LeaseRecord, 'resourceVersion'>;

export function leaseRef(namespace: string): ObjectRef {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name: OWN.lease };
}

export function leaseObject(namespace: string, contents: LeaseContents): KubeObject {
  const { apiVersion, kind, name } = leaseRef(namespace);
  const metadata = { name, namespace, labels: { [LABELS.managedBy]: OWNER } };
  return { apiVersion, kind, metadata, spec: leaseSpec(contents) };
}

/** What is empty is left out, since the API server refuses a holder without a name. */
export function leaseSpec(contents: LeaseContents): Record<string, unknown> {
  const { holder, acquireTime, renewTime, durationSeconds, transitions } = contents;
  return {
    holderIdentity: holder === '' ? null : holder,
    acquireTime,
    renewTime,
    leaseDurationSeconds: durationSeconds,
    leaseTransitions: transitions,
  };
}

/** What stands in it; somebody else's nonsense is a Lease that nobody holds. */
export function recordOf({ metadata, spec = {} }: KubeObject): LeaseRecord {
  const { holderIdentity, acquireTime, renewTime, leaseDurationSeconds, leaseTransitions } = spec as Record<
    string,
    unknown
  >;
  const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
  return {
    holder: textOf(holderIdentity) ?? '',
    acquireTime: textOf(acquireTime),
    renewTime: textOf(renewTime),
    durationSeconds: numberOf(leaseDurationSeconds),
    transitions: numberOf(leaseTransitions),
    resourceVersion: metadata.resourceVersion ?? '',
  };
}

/** As a Lease has it. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z');
}
