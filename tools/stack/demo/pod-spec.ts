import { z } from 'zod';
import { StackError } from '../errors.js';
import { adminKubectl, type AdminKubectl } from './admin-kubectl.js';

export const NAMESPACE = 'fairlead-system';
export const DEPLOYMENT = 'fairlead-agent';
export const IDENTITY_SECRET = 'fairlead-agent-identity';

/** What manifests set. Whoever may change the Deployment in the cluster must not run other code on this machine. */
const VARIABLE = /^(FAIRLEAD_[A-Z_]+|OTEL_EXPORTER_OTLP_ENDPOINT|HTTPS_PROXY|NO_PROXY)$/;
/** Values only: anything that needs more of a kubelet (`valueFrom`) fails here and not somewhere in the agent. */
const Variable = z.object({ name: z.string().regex(VARIABLE), value: z.string() });
/** A DNS subdomain, and so no option of kubectl: kube-apiservers take any text here. */
const SecretName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
const Volume = z.object({
  name: z.string(),
  secret: z.object({ secretName: SecretName, optional: z.boolean().optional(), defaultMode: z.int().default(0o644) }),
});
const Container = z.object({
  env: z.array(Variable).default([]),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })).default([]),
});
const PodSpec = z.object({
  serviceAccountName: z.string(),
  automountServiceAccountToken: z.literal(true),
  securityContext: z.object({ runAsUser: z.int(), runAsGroup: z.int() }),
  containers: z.tuple([Container]),
  volumes: z.array(Volume).default([]),
});
const Deployment = z.object({ spec: z.object({ template: z.object({ spec: PodSpec }) }) });
export type PodSpec = z.infer<typeof PodSpec>;

const SecretData = z.object({ data: z.record(z.string(), z.string()).default({}) });

/** The pod that the cluster's API server has on file for the agent; null before the manifest was applied. */
export async function readAgentPod(cluster: AdminKubectl): Promise<PodSpec | null> {
  const deployment = await readObject(cluster, 'deployment', DEPLOYMENT);
  return deployment === null ? null : podSpecOf(deployment);
}

/** The pod of the agent's Deployment. `StackError` for one that is not as a manifest of ours makes it: whoever may change it there has written it. */
export function podSpecOf(deployment: unknown): PodSpec {
  const parsed = Deployment.safeParse(deployment);
  if (parsed.success) return parsed.data.spec.template.spec;
  const problems = z.prettifyError(parsed.error);
  throw new StackError(`the agent's Deployment asks for what this stand-in of a kubelet cannot do:\n${problems}`);
}

/** Values of a Secret in the agent's namespace, decoded; null if there is no such Secret. */
export async function readAgentSecret(cluster: AdminKubectl, name: string): Promise<Map<string, Buffer> | null> {
  const secret = await readObject(cluster, 'secret', name);
  if (secret === null) return null;
  const { data } = SecretData.parse(secret);
  return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]));
}

async function readObject(cluster: AdminKubectl, kind: 'deployment' | 'secret', name: string): Promise<unknown> {
  const where = ['--namespace', NAMESPACE, '--ignore-not-found', '-o', 'json'];
  const text = await adminKubectl(cluster, ['get', `${kind}/${name}`, ...where]);
  return text === '' ? null : JSON.parse(text);
}
