import { Agent } from 'node:https';
import { callInCluster, type InClusterOptions } from './in-cluster-call.js';

export interface ConfigMapsOptions extends InClusterOptions {
  readonly namespace: string;
}

export interface ConfigMapChange {
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
      const body = JSON.stringify(change);
      await callInCluster(options, {
        method: 'PATCH',
        path: pathOf(name),
        body,
        what: what('writing', name),
        connections,
      });
    },
  };
}
