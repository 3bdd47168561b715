import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@fairlead/kube/rest';
import { SKIP_RECONCILE } from '../drivers/argocd/sources.js';
import { SIGNERS } from '../drivers/flux/sources.js';
import { ANNOTATIONS } from '../names.js';

const KINDS = new Set(['GitRepository', 'Kustomization', 'AppProject', 'Application']);

interface Following {
  readonly suspend?: boolean;
  readonly verify?: unknown;
  readonly signatureKeys?: unknown;
  readonly syncPolicy?: { readonly automated?: unknown };
}

/** Is there anything in such an object that could? */
export function mayNarrow({ kind, metadata: { name } }: KubeObject): boolean {
  return kind === 'Secret' ? name === SIGNERS : KINDS.has(kind);
}

/**
 * Of what is desired of an object that is there, only what lets the tool follow less: that it stands still, and whose signatures it
 * demands. A merge patch; null: nothing of that differs, or somebody annotated it to be left alone, which counts unless it is `oursAlone`.
 */
export function narrowing(live: KubeObject, desired: KubeObject, oursAlone = false): Record<string, unknown> | null {
  if (!oursAlone && live.metadata.annotations?.[ANNOTATIONS.reconcile] === 'disabled') return null;
  switch (desired.kind) {
    case 'GitRepository':
      return inSpec({ ...suspended(live, desired), ...demanded(live, desired, 'verify') });
    case 'Kustomization':
      return inSpec(suspended(live, desired));
    case 'AppProject':
      return inSpec(demanded(live, desired, 'signatureKeys'));
    case 'Application':
      return stopped(live, desired);
    case 'Secret':
      return withdrawn(live, desired);
    default:
      return null;
  }
}

function specOf(object: KubeObject): Following {
  return object['spec'] ?? {};
}

function inSpec(spec: Record<string, unknown>): Record<string, unknown> | null {
  return Object.keys(spec).length === 0 ? null : { spec };
}

function suspended(live: KubeObject, desired: KubeObject): Record<string, unknown> {
  return specOf(desired).suspend === true && specOf(live).suspend !== true ? { suspend: true } : {};
}

function demanded(live: KubeObject, desired: KubeObject, field: 'verify' | 'signatureKeys'): Record<string, unknown> {
  const demand = specOf(desired)[field];
  return demand === undefined || isDeepStrictEqual(demand, specOf(live)[field]) ? {} : { [field]: demand };
}

function stopped(live: KubeObject, desired: KubeObject): Record<string, unknown> | null {
  const isSkipped = ({ metadata: { annotations } }: KubeObject): boolean => annotations?.[SKIP_RECONCILE] === 'true';
  if (!isSkipped(desired)) return null;
  const isStill = isSkipped(live) && specOf(live).syncPolicy?.automated === undefined;
  if (isStill) return null;
  return { metadata: { annotations: { [SKIP_RECONCILE]: 'true' } }, spec: { syncPolicy: { automated: null } } };
}

/** Signers that count no more. */
function withdrawn(live: KubeObject, desired: KubeObject): Record<string, unknown> | null {
  const namesOf = (object: KubeObject): string[] => Object.keys((object['data'] as object | undefined) ?? {});
  const kept = new Set(namesOf(desired));
  const gone = namesOf(live).filter((name) => !kept.has(name));
  return gone.length === 0 ? null : { data: Object.fromEntries(gone.map((name) => [name, null])) };
}
