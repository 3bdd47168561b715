import { connectCluster } from './client.js';
import { kubeError } from './kube-error.js';

export interface ServiceAccountTokenRequest {
  readonly namespace: string;
  readonly name: string;
  /** The API server refuses less than 600 and may give more or less than asked for. */
  readonly expirationSeconds: number;
}

export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** A token of a service account from the TokenRequest API, as the kubelet gets it for a pod. Errors as in `applyManifest`. */
export async function requestServiceAccountToken(
  kubeconfigPath: string,
  request: ServiceAccountTokenRequest,
): Promise<ServiceAccountToken> {
  const { core } = await connectCluster(kubeconfigPath);
  try {
    const { namespace, name, expirationSeconds } = request;
    const body = { spec: { audiences: [], expirationSeconds } };
    const { status } = await core.createNamespacedServiceAccountToken({ namespace, name, body });
    return { token: status?.token ?? '', expiresAt: status?.expirationTimestamp ?? new Date(0) };
  } catch (error) {
    throw kubeError(error, `requesting a token of service account ${request.name}`);
  }
}
