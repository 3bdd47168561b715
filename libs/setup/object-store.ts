import { FairleadError } from '@fairlead/errors';
import type { KubeApi } from '@fairlead/kube/rest';

/** Values by the names of their files. */
export type Files = Readonly<Record<string, string>>;

/** Secrets and ConfigMaps of one namespace. Errors are those of `kubeError`. */
export interface ObjectStore {
  readSecret(name: string): Promise<Files | null>;
  /** CONFLICT if there is one. */
  createSecret(name: string, files: Files): Promise<void>;
  /** Creates it, or puts these files in the place of those that it has. */
  putConfigMap(name: string, files: Files): Promise<void>;
}

interface Stored {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Files;
}

/** What it makes belongs to the namespace, not to a release: it stays when that is uninstalled. */
const LABELS = { 'app.kubernetes.io/part-of': 'fairlead', 'app.kubernetes.io/managed-by': 'fairlead-setup' };

export function createObjectStore(api: KubeApi, namespace: string): ObjectStore {
  const pathOf = (kind: 'secrets' | 'configmaps', name = ''): string =>
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/${kind}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;
  const read = async (kind: 'secrets' | 'configmaps', name: string): Promise<Stored | null> => {
    try {
      return await api.call<Stored>({ path: pathOf(kind, name), what: `reading ${kind}/${name}` });
    } catch (error) {
      if (error instanceof FairleadError && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  };
  return {
    async readSecret(name) {
      const found = await read('secrets', name);
      if (found === null) return null;
      const files = Object.entries(found.data ?? {});
      return Object.fromEntries(files.map(([file, value]) => [file, Buffer.from(value, 'base64').toString('utf8')]));
    },
    async createSecret(name, stringData) {
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels: LABELS }, type: 'Opaque', stringData };
      await api.call({ method: 'POST', path: pathOf('secrets'), body, what: `creating secrets/${name}` });
    },
    async putConfigMap(name, data) {
      const found = await read('configmaps', name);
      const { resourceVersion } = found?.metadata ?? {};
      const metadata = { name, labels: LABELS, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      const what = `writing configmaps/${name}`;
      if (found === null) await api.call({ method: 'POST', path: pathOf('configmaps'), body, what });
      else await api.call({ method: 'PUT', path: pathOf('configmaps', name), body, what });
    },
  };
}
