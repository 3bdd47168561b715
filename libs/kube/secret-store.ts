import { callInCluster, type InClusterOptions } from './in-cluster-call.js';

export interface SecretStoreOptions extends InClusterOptions {
  readonly namespace: string;
  readonly name: string;
}

/** The values of one Kubernetes Secret. */
export interface SecretStore {
  /** All values, decoded as UTF-8; empty if the Secret has none. NOT_FOUND if there is no such Secret. */
  read(): Promise<Record<string, string>>;
  /** Sets these values in one step and leaves others alone. NOT_FOUND if there is no such Secret: it is never created. */
  write(values: Readonly<Record<string, string>>): Promise<void>;
}

/** One Secret, from inside the cluster. Errors as `callInCluster`. */
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

function call(options: SecretStoreOptions, method: 'GET' | 'PATCH', body?: string): Promise<string> {
  const { namespace, name } = options;
  return callInCluster(options, {
    method,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
    what: `${method === 'GET' ? 'reading' : 'writing'} Secret ${namespace}/${name}`,
    ...(body === undefined ? {} : { body }),
  });
}
