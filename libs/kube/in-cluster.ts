import { Agent } from 'node:https';
import { kubeError, statusError } from './kube-error.js';
import { askKube } from './rest/ask-kube.js';
import { accessFromPod } from './rest/pod-access.js';

interface InClusterOptions {
  readonly host: string;
  readonly port: number;
  /** Holds `token` and `ca.crt`; both are read for each request, because the kubelet replaces them. */
  readonly serviceAccountDir: string;
  /** For one request. Default 10 s. */
  readonly deadlineMs?: number;
}

interface ConfigMapsOptions extends InClusterOptions {
  readonly namespace: string;
}

interface ConfigMapChange {
  readonly data?: Readonly<Record<string, string>>;
  /** Base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** The ConfigMaps of a namespace that are there already: none is created. */
export interface ConfigMaps {
  /**
   * Its text values. NOT_FOUND if there is none. `cached`: as the API server holds it in memory, which may be a moment old and
   * costs etcd nothing.
   */
  read(name: string, options?: { readonly cached?: boolean }): Promise<Record<string, string>>;
  /** Sets these values in one step and leaves others alone, whatever somebody else changes meanwhile. NOT_FOUND if there is none. */
  write(name: string, change: ConfigMapChange): Promise<void>;
}

/** ConfigMaps, from inside the cluster, over connections that are kept. Errors as `callInCluster`. */
export function createConfigMaps(options: ConfigMapsOptions): ConfigMaps {
  const connections = new Agent({ keepAlive: true, maxSockets: 2, maxFreeSockets: 1, timeout: 60_000 });
  const pathOf = (name: string): string =>
    `/api/v1/namespaces/${encodeURIComponent(options.namespace)}/configmaps/${encodeURIComponent(name)}`;
  const what = (doing: string, name: string): string => `${doing} ConfigMap ${options.namespace}/${name}`;
  return {
    read: async (name, { cached = false } = {}) => {
      const path = `${pathOf(name)}${cached ? '?resourceVersion=0' : ''}`;
      const text = await callInCluster(options, { method: 'GET', path, what: what('reading', name), connections });
      return (JSON.parse(text) as { data?: Record<string, string> }).data ?? {};
    },
    write: async (name, change) => {
      const [path, body] = [pathOf(name), JSON.stringify(change)];
      await callInCluster(options, { method: 'PATCH', path, body, what: what('writing', name), connections });
    },
  };
}

interface SecretStoreOptions extends InClusterOptions {
  readonly namespace: string;
  readonly name: string;
}

/** The values of one Kubernetes Secret. */
export interface SecretStore {
  /** All values, decoded as UTF-8; none if the Secret has none. `version`: its resource version. NOT_FOUND if there is no such Secret. */
  read(): Promise<{ readonly values: Record<string, string>; readonly version: string }>;
  /**
   * Sets these values in one step and leaves others alone. NOT_FOUND if there is no such Secret: it is never created. With a `version`,
   * CONFLICT if anybody has changed the Secret since it had that one.
   */
  write(values: Readonly<Record<string, string>>, version?: string): Promise<void>;
}

/** One Secret, from inside the cluster. Errors as `callInCluster`. */
export function createSecretStore(options: SecretStoreOptions): SecretStore {
  return {
    read: async () => {
      const { data = {}, metadata } = JSON.parse(await call(options, 'GET')) as SecretObject;
      const values = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]);
      return { values: Object.fromEntries(values) as Record<string, string>, version: metadata.resourceVersion };
    },
    write: async (values, version) => {
      const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]);
      const change = { data: Object.fromEntries(data) as Record<string, string> };
      // A patch that names a resource version is of that one alone (Kubernetes API conventions, concurrency control).
      const guard = version === undefined ? {} : { metadata: { resourceVersion: version } };
      await call(options, 'PATCH', JSON.stringify({ ...change, ...guard }));
    },
  };
}

interface LeaseOptions extends InClusterOptions {
  readonly namespace: string;
  readonly name: string;
}

/** One Lease that is there already, by which the pods of a Deployment agree who leads. */
export interface Lease {
  /** `renewed`: a text that is another one after each write. NOT_FOUND if there is no such Lease. */
  read(): Promise<{ readonly holder: string; readonly renewed: string; readonly version: string }>;
  /** CONFLICT if anybody has changed it since it had this version. Empty: nobody holds it. */
  write(holder: string, version: string): Promise<void>;
}

interface LeaseObject {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string };
}

/** A Lease, from inside the cluster. Errors as `callInCluster`. */
export function createLease(options: LeaseOptions): Lease {
  const { namespace, name } = options;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${encodeURIComponent(name)}`;
  const connections = new Agent({ keepAlive: true, maxSockets: 1, timeout: 60_000 });
  const what = (doing: string): string => `${doing} Lease ${namespace}/${name}`;
  return {
    read: async () => {
      const text = await callInCluster(options, { method: 'GET', path, what: what('reading'), connections });
      const { metadata, spec = {} } = JSON.parse(text) as LeaseObject;
      const { holderIdentity: holder = '', renewTime: renewed = '' } = spec;
      return { holder, renewed, version: metadata.resourceVersion };
    },
    write: async (holder, version) => {
      // A `MicroTime` has six digits, and the API server takes no fewer.
      const renewTime = new Date().toISOString().replace('Z', '000Z');
      // It refuses a holder without a name, too.
      const spec = { holderIdentity: holder === '' ? null : holder, renewTime };
      const change = { metadata: { resourceVersion: version }, spec };
      const body = JSON.stringify(change);
      await callInCluster(options, { method: 'PATCH', path, body, what: what('writing'), connections });
    },
  };
}

interface SecretObject {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

function call(options: SecretStoreOptions, method: 'GET' | 'PATCH', body?: string): Promise<string> {
  const { namespace, name } = options;
  return callInCluster(options, {
    method,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
    what: `${method === 'GET' ? 'reading' : 'writing'} Secret ${namespace}/${name}`,
    ...(body === undefined ? {} : { body }),
  });
}

interface InClusterCall {
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
async function callInCluster(options: InClusterOptions, { what, ...call }: InClusterCall): Promise<string> {
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
