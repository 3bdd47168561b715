import type { Administrator } from '../access/administrator.js';
import { adminKubectl, type AdminKubectl } from './admin-kubectl.js';
import { aggregateRoles } from './aggregate-roles.js';
import { IDENTITY_SECRET, NAMESPACE, readAgentPod, readAgentSecret } from './pod-spec.js';

interface JoinOptions extends AdminKubectl {
  readonly clusterName: string;
  readonly links: number;
  readonly targets: readonly string[];
  /** The catalog repository that it is to follow; absent: no GitOps. */
  readonly catalog?: string;
  readonly admin: Administrator;
  /** `host:port` that agents dial now; a manifest applied earlier may name others. */
  readonly endpoints: readonly string[];
}

/**
 * Registers the cluster and applies its import manifest, unless its agent already has an identity and knows the way: a
 * restart enrols nobody again.
 */
export async function joinCluster(options: JoinOptions): Promise<void> {
  const { clusterName, links, targets, catalog, admin } = options;
  const { created } = await admin.ensureCluster(clusterName, { links, targets, catalog });
  if (created && catalog !== undefined) await admin.fetchOften(clusterName);
  const identity = await readAgentSecret(options, IDENTITY_SECRET);
  const enrolled = identity !== null && identity.size > 0;
  if (enrolled && !created && (await knowsTheWay(options))) return;
  // The identity is of a cluster that is no longer registered: nobody will accept it.
  if (enrolled && created) await forgetIdentity(options);
  await aggregateRoles(options);
  await adminKubectl(options, ['apply', '-f', '-'], await admin.importManifest(clusterName));
}

async function knowsTheWay(options: JoinOptions): Promise<boolean> {
  const pod = await readAgentPod(options);
  const told = pod?.containers[0].env.find(({ name }) => name === 'FAIRLEAD_ENDPOINTS')?.value;
  return told === options.endpoints.join(',');
}

async function forgetIdentity(options: JoinOptions): Promise<void> {
  const patch = ['--type=merge', '-p', '{"data":null}'];
  await adminKubectl(options, ['patch', 'secret', IDENTITY_SECRET, '--namespace', NAMESPACE, ...patch]);
}
