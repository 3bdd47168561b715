import { type KubeObject, type Objects } from '@fairlead/kube/rest';
import { FIELD_MANAGER, LABELS, OWNER } from '../names.js';

/** ConfigMaps and Secrets in the installer's own namespace. */
export interface OwnObjects {
  readonly namespace: string;
  readConfigMap(name: string): Promise<OwnConfigMap | null>;
  writeConfigMap(name: string, content: Partial<OwnConfigMap>): Promise<void>;
  readSecret(name: string): Promise<OwnSecret>;
  /**
   * The Secret has these values then and no others. Returns its new version. CONFLICT if it has another version by now than the one that
   * was read: somebody else wrote it, or (`null`) made it. One that was deleted meanwhile is made anew.
   */
  writeSecret(name: string, values: OwnSecret['values'], version: OwnSecret['version']): Promise<string>;
  remove(kind: 'ConfigMap' | 'Secret', name: string): Promise<void>;
}

export interface OwnSecret {
  /** Decoded as UTF-8; empty if there is none. */
  readonly values: Readonly<Record<string, string>>;
  /** Its resourceVersion; null: there is none. */
  readonly version: string | null;
}

interface OwnConfigMap {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData: Readonly<Record<string, Uint8Array>>;
}

export function ownObjects(objects: Objects, namespace: string): OwnObjects {
  const named = (kind: string, name: string) => ({ apiVersion: 'v1', kind, namespace, name });
  const labels = { [LABELS.managedBy]: OWNER };
  const apply = (kind: string, name: string, content: Record<string, unknown>, version?: string): Promise<KubeObject> =>
    objects.apply(
      {
        apiVersion: 'v1',
        kind,
        metadata: { name, namespace, labels, ...(version === undefined ? {} : { resourceVersion: version }) },
        ...content,
      },
      { fieldManager: FIELD_MANAGER, force: true },
    );
  // Empty, and then filled by an apply: who creates owns the fields, and an apply would not take away what another manager set.
  const create = async (name: string): Promise<string> => {
    const made = await objects.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels } });
    return versionOf(made);
  };
  return {
    namespace,
    readConfigMap: async (name) => {
      const found = await objects.read(named('ConfigMap', name));
      return found && { data: textsOf(found, 'data'), binaryData: bytesOf(textsOf(found, 'binaryData')) };
    },
    writeConfigMap: async (name, { data = {}, binaryData = {} }) => {
      const bytes = Object.entries(binaryData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
      await apply('ConfigMap', name, { data, binaryData: Object.fromEntries(bytes) });
    },
    readSecret: async (name) => {
      const found = await objects.read(named('Secret', name));
      const values = Object.entries(found ? bytesOf(textsOf(found, 'data')) : {});
      return {
        values: Object.fromEntries(values.map(([key, value]) => [key, Buffer.from(value).toString('utf8')])),
        version: found && versionOf(found),
      };
    },
    writeSecret: async (name, values, version) =>
      versionOf(await apply('Secret', name, secretData(values), version ?? (await create(name)))),
    remove: async (kind, name) => {
      await objects.remove(named(kind, name));
    },
  };
}

/** The fields of a Secret with these values. */
export function secretData(values: Readonly<Record<string, string>>): { type: string; data: Record<string, string> } {
  const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]);
  return { type: 'Opaque', data: Object.fromEntries(data) as Record<string, string> };
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}

function textsOf(object: KubeObject, field: 'data' | 'binaryData'): Record<string, string> {
  return (object[field] ?? {}) as Record<string, string>;
}

function bytesOf(texts: Record<string, string>): Record<string, Uint8Array> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}
