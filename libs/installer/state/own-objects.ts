import { type KubeObject, type Objects } from '@fairlead/kube/rest';
import { FIELD_MANAGER, LABELS, OWNER } from '../names.js';

/** ConfigMaps and Secrets in the installer's own namespace. */
export interface OwnObjects {
  readonly namespace: string;
  readConfigMap(name: string): Promise<OwnConfigMap | null>;
  writeConfigMap(name: string, content: Partial<OwnConfigMap>): Promise<void>;
  /** Values decoded as UTF-8; empty if there is none. */
  readSecret(name: string): Promise<Record<string, string>>;
  /** The Secret has these values then and no others. */
  writeSecret(name: string, values: Readonly<Record<string, string>>): Promise<void>;
  remove(kind: 'ConfigMap' | 'Secret', name: string): Promise<void>;
}

export interface OwnConfigMap {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData: Readonly<Record<string, Uint8Array>>;
}

export function ownObjects(objects: Objects, namespace: string): OwnObjects {
  const named = (kind: string, name: string) => ({ apiVersion: 'v1', kind, namespace, name });
  const apply = async (kind: string, name: string, content: Record<string, unknown>): Promise<void> => {
    const metadata = { name, namespace, labels: { [LABELS.managedBy]: OWNER } };
    await objects.apply({ apiVersion: 'v1', kind, metadata, ...content }, { fieldManager: FIELD_MANAGER, force: true });
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
      return Object.fromEntries(values.map(([key, value]) => [key, Buffer.from(value).toString('utf8')]));
    },
    writeSecret: (name, values) => apply('Secret', name, secretData(values)),
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

function textsOf(object: KubeObject, field: 'data' | 'binaryData'): Record<string, string> {
  return (object[field] ?? {}) as Record<string, string>;
}

function bytesOf(texts: Record<string, string>): Record<string, Uint8Array> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
}
