import { AGENT_RESOURCES } from '@fairlead/contracts';
import { AGENT } from './import-manifest-names.js';

const user = AGENT.userId;
const seccompProfile = { type: 'RuntimeDefault' };

/** Of each pod of ours: what the Pod Security Standard `restricted` asks for. */
export const POD = {
  automountServiceAccountToken: true,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: 30,
  securityContext: { runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user, seccompProfile },
} as const;

/** Where pods of the cluster's DNS listen: most, and OpenShift's. Policies are judged by a pod's own port, behind its Service's. */
export const DNS_PORTS = [53, 5353];

/** One of `localhost` was loaded into the node: never pulled, as whatever answers there by HTTP would be asked for it. */
export function imageFields(image: string): { readonly image: string; readonly imagePullPolicy?: 'Never' } {
  return image.startsWith('localhost/') ? { image, imagePullPolicy: 'Never' } : { image };
}

/** Of each container of ours; what it writes, it keeps in the cluster's API. */
export const CONTAINER = {
  resources: AGENT_RESOURCES,
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile,
  },
} as const;
