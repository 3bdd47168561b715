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
 * Of what is wanted of an object that is there, only what lets the tool follow less: that it stands still, and whose signatures it
 * demands. A merge patch; null: nothing of that differs, or somebody annotated it to be left alone, which counts unless it is `oursAlone`.
 */
export function narrowing(live: KubeObject, wanted: KubeObject, oursAlone = false): Record<string, unknown> | null {
  if (!oursAlone && live.metadata.annotations?.[ANNOTATIONS.reconcile] === 'disabled') return null;
  switch (wanted.kind) {
    case 'GitRepository':
      return inSpec({ ...suspended(live, wanted), ...demanded(live, wanted, 'verify') });
    case 'Kustomization':
      return inSpec(suspended(live, wanted));
    case 'AppProject':
      return inSpec(demanded(live, wanted, 'signatureKeys'));
    case 'Application':
      return stopped(live, wanted);
    case 'Secret':
      return withdrawn(live, wanted);
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

function suspended(live: KubeObject, wanted: KubeObject): Record<string, unknown> {
  return specOf(wanted).suspend === true && specOf(live).suspend !== true ? { suspend: true } : {};
}

function demanded(live: KubeObject, wanted: KubeObject, field: 'verify' | 'signatureKeys'): Record<string, unknown> {
  const demand = specOf(wanted)[field];
  return demand === undefined || isDeepStrictEqual(demand, specOf(live)[field]) ? {} : { [field]: demand };
}

function stopped(live: KubeObject, wanted: KubeObject): Record<string, unknown> | null {
  const isSkipped = ({ metadata: { annotations } }: KubeObject): boolean => annotations?.[SKIP_RECONCILE] === 'true';
  if (!isSkipped(wanted)) return null;
  const isStill = isSkipped(live) && specOf(live).syncPolicy?.automated === undefined;
  if (isStill) return null;
  return { metadata: { annotations: { [SKIP_RECONCILE]: 'true' } }, spec: { syncPolicy: { automated: null } } };
}

/** Signers that count no more. */
function withdrawn(live: KubeObject, wanted: KubeObject): Record<string, unknown> | null {
  const namesOf = (object: KubeObject): string[] => Object.keys((object['data'] as object | undefined) ?? {});
  const kept = new Set(namesOf(wanted));
  const gone = namesOf(live).filter((name) => !kept.has(name));
  return gone.length === 0 ? null : { data: Object.fromEntries(gone.map((name) => [name, null])) };
}
