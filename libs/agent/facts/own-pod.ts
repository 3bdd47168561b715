import { FairleadError } from '@fairlead/errors';
import { askKube } from '@fairlead/kube/ask-kube';
import type { AgentPod } from '@fairlead/tunnel/agent';
import { z } from 'zod';
import type { KubeApiTarget } from '../kube-api-proxy.js';

/** The Deployment that an agent is a pod of. */
export interface Workload {
  readonly namespace: string;
  readonly name: string;
}

/** What the kubelet binds a pod's token to (KEP-1205, KEP-4193): in it without asking anybody for it, and not what the manifest could say. */
const Claims = z.object({
  'kubernetes.io': z.object({
    pod: z.object({ name: z.string().max(253), uid: z.string().max(64) }),
    node: z.object({ name: z.string().max(253) }).optional(),
  }),
});
const KubeSystem = z.object({ metadata: z.object({ uid: z.string().min(1).max(64) }) });
const Deployment = z.object({ spec: z.object({ replicas: z.int().min(0).default(1) }) });

/**
 * Which pod of which cluster this process is, and how many pods its Deployment has; null: it is in none, or may not look. Rejects if the API server
 * does not say.
 */
export async function readOwnPod(api: KubeApiTarget, of: Workload, signal: AbortSignal): Promise<AgentPod | null> {
  const claims = claimsOf(await api.token());
  if (!claims) return null;
  const deploymentPath = `/apis/apps/v1/namespaces/${encodeURIComponent(of.namespace)}/deployments/${encodeURIComponent(of.name)}`;
  const [kubeSystem, deployment] = await Promise.all([
    read(api, '/api/v1/namespaces/kube-system', KubeSystem, signal),
    read(api, deploymentPath, Deployment, signal),
  ]);
  if (!kubeSystem || !deployment) return null;
  const { pod, node } = claims['kubernetes.io'];
  return {
    clusterUid: kubeSystem.metadata.uid,
    name: pod.name,
    uid: pod.uid,
    node: node?.name ?? '',
    replicas: deployment.spec.replicas,
  };
}

/** Not verified: it is our own. */
function claimsOf(token: string): z.infer<typeof Claims> | null {
  const [, payload = ''] = token.split('.');
  try {
    return Claims.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  } catch {
    // A token of no pod: it was made by hand, or it is none.
    return null;
  }
}

/** Null: it may not, or there is none. */
async function read<T>(api: KubeApiTarget, path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T | null> {
  const { status, body } = await askKube(api, { method: 'GET', path, signal });
  if (status === 403 || status === 404) return null;
  if (status !== 200) throw new FairleadError('UNAVAILABLE', `the API server answered ${status} to GET ${path}`);
  return schema.parse(JSON.parse(body));
}
