import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@fairlead/kube/rest';

/** Do two versions of an object say the same? What the server counts and notes in each write does not. */
export function sayTheSame(a: KubeObject, b: KubeObject): boolean {
  return isDeepStrictEqual(said(a), said(b));
}

function said(object: KubeObject): unknown {
  const { status: _status, metadata, ...rest } = object;
  const { managedFields: _managed, resourceVersion: _version, generation: _generation, ...names } = metadata;
  return { ...rest, metadata: names };
}

/** Are there fields in an object that another one has not, whatever their values? Its metadata, and what a controller tells in it, do not count. */
export function saysMore(object: KubeObject, than: KubeObject): boolean {
  const { metadata: _metadata, status: _status, operation: _operation, ...fields } = object;
  return hasMore(fields, than);
}

function hasMore(value: unknown, than: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (typeof than !== 'object' || than === null) return true;
  return Object.entries(value).some(
    ([key, inner]) => !Object.hasOwn(than, key) || hasMore(inner, (than as Record<string, unknown>)[key]),
  );
}
