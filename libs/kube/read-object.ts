import type { KubernetesObject } from '@kubernetes/client-node';
import { connectCluster } from './client.js';
import { kubeError } from './kube-error.js';

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** An object as the API server has it, or null if there is none. Errors: FORBIDDEN, UNAVAILABLE, DEADLINE_EXCEEDED (15 s). */
export async function readObject<T extends KubernetesObject>(
  kubeconfigPath: string,
  reference: ObjectReference,
): Promise<T | null> {
  const { apiVersion, kind, namespace, name } = reference;
  const client = await connectCluster(kubeconfigPath);
  try {
    const metadata = namespace === undefined ? { name } : { name, namespace };
    return (await client.objects.read({ apiVersion, kind, metadata })) as T;
  } catch (error) {
    const failure = kubeError(error, `reading ${kind} ${name}`);
    if (failure.code === 'NOT_FOUND') return null;
    throw failure;
  }
}
