import { readFile } from 'node:fs/promises';
import { request, type Agent, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { FairleadError } from '@fairlead/errors';
import { kubeError, statusError } from './kube-error.js';

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

const MAX_BODY_BYTES = 2 * 2 ** 20;

/**
 * One request to the API server from inside the cluster; resolves with the body. It is `node:https` and not the Kubernetes client,
 * because loading that costs 85 MiB, more than the rest of the agent. Errors: FORBIDDEN, NOT_FOUND, UNAVAILABLE, DEADLINE_EXCEEDED.
 */
export async function callInCluster(options: InClusterOptions, call: InClusterCall): Promise<string> {
  try {
    const answer = await send(await requestOptions(options, call), call.body);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw statusError(answer.status, answer.body, call.what);
  } catch (error) {
    throw kubeError(error, call.what);
  }
}

async function requestOptions(
  options: InClusterOptions,
  { method, path, connections }: InClusterCall,
): Promise<RequestOptions> {
  const file = (name: string): Promise<string> => readFile(join(options.serviceAccountDir, name), 'utf8');
  const [token, ca] = await Promise.all([file('token'), file('ca.crt')]);
  return {
    // An IPv6 address in brackets is a URL's form, not a socket's.
    host: options.host.replace(/^\[(.*)\]$/, '$1'),
    port: options.port,
    path,
    method,
    ca,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${token.trim()}`,
      ...(method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}),
    },
    agent: connections ?? false,
    signal: AbortSignal.timeout(options.deadlineMs ?? 10_000),
  };
}

function send(options: RequestOptions, body: string | undefined): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES)
          sent.destroy(new FairleadError('INTERNAL', 'the answer is larger than an object of Kubernetes can be'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
