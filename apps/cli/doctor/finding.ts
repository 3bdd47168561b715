import {
  namespaceOf,
  type BootstrapToken,
  type CertificateRecord,
  type Cluster,
  type ClusterAccess,
  type EnrolmentRequest,
} from '../session/answers.js';

/** What one look at a cluster's connection found. The same shape as `fairlead-agent check` prints. */
export interface Finding {
  /** api, cluster, enrolment, token, queue, certificate, presence, links, agents, version, facts, door. */
  readonly check: string;
  /** What was looked at. */
  readonly subject: string;
  /** False for a failure; what deserves a look and works is `warning`. */
  readonly ok: boolean;
  readonly warning: boolean;
  /** What was seen; for a failure, its cause. */
  readonly detail: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** What the API knows of a cluster. Null: it could not be asked. */
export interface KnownFacts {
  readonly cluster: Cluster;
  readonly tokens: readonly BootstrapToken[] | null;
  readonly certificates: readonly CertificateRecord[] | null;
  /** Agents that wait for an administrator, of any cluster. */
  readonly waiting: readonly EnrolmentRequest[] | null;
  readonly policy: string | null;
  readonly access: ClusterAccess | null;
  /** Version of this command, and so of the installation it came with. */
  readonly ownVersion: string;
  readonly nowMs: number;
}

export function found(check: string, subject: string, detail: string): Finding {
  return { check, subject, ok: true, warning: false, detail };
}

export function warned(check: string, subject: string, detail: string, remedy: string): Finding {
  return { check, subject, ok: true, warning: true, detail, remedy };
}

export function failed(check: string, subject: string, detail: string, remedy: string): Finding {
  return { check, subject, ok: false, warning: false, detail, remedy };
}

/** The remedies that several failures share. */
export const REMEDIES = {
  newManifest: (name: string): string => `fairlead cluster import ${name} | kubectl apply -f -`,
  askAgent: (cluster: Pick<Cluster, 'manifestValues'>): string => {
    const namespace = namespaceOf(cluster);
    return `in the cluster: kubectl -n ${namespace} get pods; then kubectl -n ${namespace} exec deploy/fairlead-agent -- node apps/agent/dist/bundle/main.js check`;
  },
} as const;
