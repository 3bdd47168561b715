import { readFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { FairleadError } from '@fairlead/errors';
import { kubeError, statusError } from './kube-error.js';

export interface SecretStoreOptions {
  readonly host: string;
  readonly port: number;
  /** Holds `token` and `ca.crt`; both are read for each request, because the kubelet replaces them. */
  readonly serviceAccountDir: string;
  readonly namespace: string;
  readonly name: string;
  /** For one request. Default 10 s. */
  readonly deadlineMs?: number;
}

/** The values of one Kubernetes Secret. */
export interface SecretStore {
  /** All values, decoded as UTF-8; empty if the Secret has none. NOT_FOUND if there is no such Secret. */
  read(): Promise<Record<string, string>>;
  /** Sets these values in one step and leaves others alone. NOT_FOUND if there is no such Secret: it is never created. */
  write(values: Readonly<Record<string, string>>): Promise<void>;
}

const MAX_BODY_BYTES = 2 * 2 ** 20;

/**
 * One Secret, from inside the cluster. It is two requests on `node:https` and not the Kubernetes client, because loading
 * that costs 85 MiB, more than the rest of the agent. Errors: FORBIDDEN, NOT_FOUND, UNAVAILABLE, DEADLINE_EXCEEDED.
 */
export function createSecretStore(options: SecretStoreOptions): SecretStore {
  return {
    read: async () => {
      const secret = JSON.parse(await call(options, 'GET')) as { data?: Record<string, string> };
      return Object.fromEntries(
        Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
      );
    },
    write: async (values) => {
      const data = Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]),
      );
      await call(options, 'PATCH', JSON.stringify({ data }));
    },
  };
}

async function call(options: SecretStoreOptions, method: 'GET' | 'PATCH', body?: string): Promise<string> {
  const { namespace, name } = options;
  const what = `${method === 'GET' ? 'reading' : 'writing'} Secret ${namespace}/${name}`;
  try {
    const answer = await send(await requestOptions(options, method), body);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw statusError(answer.status, answer.body, what);
  } catch (error) {
    throw kubeError(error, what);
  }
}

async function requestOptions(options: SecretStoreOptions, method: string): Promise<RequestOptions> {
  const file = (name: string): Promise<string> => readFile(join(options.serviceAccountDir, name), 'utf8');
  const [token, ca] = await Promise.all([file('token'), file('ca.crt')]);
  const { host, port, namespace, name } = options;
  return {
    // An IPv6 address in brackets is a URL's form, not a socket's.
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
    method,
    ca,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${token.trim()}`,
      ...(method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}),
    },
    agent: false,
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
          sent.destroy(new FairleadError('INTERNAL', 'the answer is larger than a Secret can be'));
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
