import { readFile } from 'node:fs/promises';
import type { CoreV1Api, KubernetesObjectApi, PatchStrategy, RequestContext } from '@kubernetes/client-node';

const DEADLINE_MS = 15_000;

/** What reaches one cluster. */
export interface ClusterClient {
  readonly objects: KubernetesObjectApi;
  readonly core: CoreV1Api;
  readonly serverSideApply: PatchStrategy;
}

/**
 * A client for the current context of a kubeconfig file; each of its requests has 15 s. The package is loaded here, at
 * first use: loading it costs 85 MiB of memory and 0.35 s (2.0.1 on Node 24), too much for a process that needs none of it.
 */
export async function connectCluster(kubeconfigPath: string): Promise<ClusterClient> {
  const [kubernetes, text] = await Promise.all([import('@kubernetes/client-node'), readFile(kubeconfigPath, 'utf8')]);
  const config = new kubernetes.KubeConfig();
  config.loadFromString(text);
  const configuration = kubernetes.createConfiguration({
    baseServer: new kubernetes.ServerConfiguration(config.getCurrentCluster()?.server ?? '', {}),
    authMethods: { default: config },
    promiseMiddleware: [{ pre: prepare, post: (response) => Promise.resolve(response) }],
  });
  return {
    objects: new kubernetes.KubernetesObjectApi(configuration),
    core: new kubernetes.CoreV1Api(configuration),
    serverSideApply: kubernetes.PatchStrategy.ServerSideApply,
  };
}

/** The deadline, and the server's check for unknown fields: a misspelt one must not vanish silently. */
function prepare(request: RequestContext): Promise<RequestContext> {
  request.setSignal(AbortSignal.timeout(DEADLINE_MS));
  if (request.getHttpMethod() !== 'GET') request.setQueryParam('fieldValidation', 'Strict');
  return Promise.resolve(request);
}
