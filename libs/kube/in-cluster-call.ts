import type { Agent } from 'node:https';
import { kubeError, statusError } from './kube-error.js';
import { askKube } from './rest/ask-kube.js';
import { accessFromPod } from './rest/pod-access.js';

export interface InClusterOptions {
  readonly host: string;
  readonly port: number;
  /** Holds `token` and `ca.crt`; both are read for each request, because the kubelet replaces them. */
  readonly serviceAccountDir: string;
  /** For one request. Default 10 s. */
  readonly deadlineMs?: number;
}

export interface InClusterCall {
  readonly method: 'GET' | 'PATCH';
  readonly path: string;
  /** Of a merge patch. */
  readonly body?: string;
  /** What is done, for errors: "reading Secret a/b". */
  readonly what: string;
  /** Keeps connections; absent: one for each call. */
  readonly connections?: Agent;
}

/** No object of Kubernetes is larger. */
const MAX_BODY_BYTES = 2 * 2 ** 20;

/** One request to the API server from inside the cluster; resolves with the body. Errors: FORBIDDEN, NOT_FOUND, UNAVAILABLE, DEADLINE_EXCEEDED, TOO_LARGE. */
export async function callInCluster(options: InClusterOptions, { what, ...call }: InClusterCall): Promise<string> {
  try {
    const signal = AbortSignal.timeout(options.deadlineMs ?? 10_000);
    const question = { ...call, contentType: 'application/merge-patch+json', signal };
    const { status, body } = await askKube(await accessFromPod(options), question, MAX_BODY_BYTES);
    if (status >= 200 && status < 300) return body;
    throw statusError(status, body, what);
  } catch (error) {
    throw kubeError(error, what);
  }
}
