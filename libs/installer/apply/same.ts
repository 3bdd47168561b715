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
