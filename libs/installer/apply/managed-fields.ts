import type { FieldSet, KubeObject, ManagedFields } from '@fairlead/kube/rest';
import { FIELD_MANAGER } from '../names.js';

/**
 * Operators whose fields are left to them, by what they call themselves as field managers. Everybody else who changes an object of
 * ours did it by hand, and it is put back.
 */
const OPERATORS: readonly RegExp[] = [
  /^kustomize-controller$/,
  /^helm(-controller)?$/,
  /^argocd(-|$)/,
  /^vpa-(recommender|updater|admission-controller)$/,
  /^keda(-|$)/,
  /^cert-manager-cainjector$/,
  /^horizontal-pod-autoscaler$/,
];

/** The control plane of Kubernetes itself: it sets the scale for an autoscaler, and never what runs in a pod. */
const CONTROL_PLANE = /^(kube-controller-manager|clusterrole-aggregation-controller)$/;
/** What `kubectl rollout restart` leaves: taking it away would restart the pods once more. */
const LEFT = new Set(['f:kubectl.kubernetes.io/restartedAt']);

interface Honoured {
  readonly object: KubeObject;
  /** `spec.replicas of helm`: what was left to whom. */
  readonly fields: readonly string[];
}

/** What is to be applied, without the fields of other operators. */
export function withoutHonoured(desired: KubeObject, managedFields: readonly ManagedFields[] = []): Honoured {
  const fields: string[] = [];
  let object: KubeObject = desired;
  for (const entry of managedFields.filter(isOperators)) {
    const without = (path: string): void => {
      // Names and labels stay ours: by them an object is found again.
      fields.push(`${path} of ${entry.manager ?? ''}`);
    };
    object = removed(object, entry.fieldsV1 ?? {}, '', without) as KubeObject;
  }
  return {
    object: { ...object, apiVersion: desired.apiVersion, kind: desired.kind, metadata: desired.metadata },
    fields,
  };
}

/**
 * Who set what, after everything that was set by hand became ours: the next apply then takes away of it what is not desired. Null if
 * nothing was. As Flux itself takes over what kubectl made; server-side apply has no other way to remove what another one added.
 * `exceptData`: what others put into it stays theirs. `oursAlone`: what anybody but us set counts as set by hand.
 */
export function takenOver(
  managedFields: readonly ManagedFields[] = [],
  { exceptData = false, oursAlone = false } = {},
): ManagedFields[] | null {
  const fieldsOf = (entry: ManagedFields): FieldSet => {
    const { 'f:data': data, ...rest } = stripped(oursAlone ? othersFields(entry) : byHand(entry));
    return exceptData || data === undefined ? rest : { ...rest, 'f:data': data };
  };
  const taken = managedFields.filter((entry) => Object.keys(fieldsOf(entry)).length > 0);
  const ours = managedFields.find(isOurs);
  if (taken.length === 0 || !ours) return null;
  const fieldsV1 = taken.reduce((all, entry) => merged(all, fieldsOf(entry)), ours.fieldsV1 ?? {});
  const others = managedFields.filter((entry) => entry !== ours && !taken.includes(entry));
  return [...others, { ...ours, fieldsV1 }];
}

/** Did we apply it, as far as its history tells? Anybody who may write an object may strip that of it. */
export function isAppliedByUs(managedFields: readonly ManagedFields[] = []): boolean {
  return managedFields.some(isOurs);
}

function isOurs({ manager, operation, subresource }: ManagedFields): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && subresource === undefined;
}

function isOperators({ manager = '', subresource }: ManagedFields): boolean {
  if (subresource === 'scale') return CONTROL_PLANE.test(manager) || OPERATORS.some((name) => name.test(manager));
  return subresource === undefined && OPERATORS.some((name) => name.test(manager));
}

/** What anybody but us set: whoever may write an object may call himself as he likes. */
function othersFields(entry: ManagedFields): FieldSet {
  return isOurs(entry) || entry.subresource === 'status' ? {} : (entry.fieldsV1 ?? {});
}

function byHand(entry: ManagedFields): FieldSet {
  const { manager = '', subresource, fieldsV1 = {} } = entry;
  if (isOurs(entry) || isOperators(entry)) return {};
  if (subresource !== undefined && subresource !== 'scale') return {};
  if (!CONTROL_PLANE.test(manager)) return fieldsV1;
  const template = fieldsV1['f:spec']?.['f:template'];
  return template === undefined ? {} : { 'f:spec': { 'f:template': template } };
}

/** Without metadata, a status that is no subresource, what Argo CD is about in an Application, and what is left to whoever set it. */
function stripped(fields: FieldSet): FieldSet {
  const { 'f:metadata': _metadata, 'f:status': _status, 'f:operation': _operation, ...rest } = fields;
  return withoutLeft(rest);
}

function withoutLeft(fields: FieldSet): FieldSet {
  const kept = Object.entries(fields).flatMap(([name, below]): [string, FieldSet][] => {
    if (LEFT.has(name)) return [];
    if (Object.keys(below).length === 0) return [[name, below]];
    const rest = withoutLeft(below);
    return Object.keys(rest).length === 0 ? [] : [[name, rest]];
  });
  // A map that was made only to hold what is left.
  const real = kept.filter(([name]) => name !== '.');
  return Object.fromEntries(real.length === 0 && kept.length < Object.keys(fields).length ? [] : kept);
}

function merged(a: FieldSet, b: FieldSet): FieldSet {
  const all: Record<string, FieldSet> = { ...a };
  for (const [name, below] of Object.entries(b)) all[name] = merged(a[name] ?? {}, below);
  return all;
}

/** The value without the fields of a set; tells of each that was there. */
function removed(value: unknown, fields: FieldSet, path: string, tell: (path: string) => void): unknown {
  let rest = value;
  for (const [name, below] of Object.entries(fields)) {
    if (name === '.' || name === 'f:metadata' || name === 'f:status') continue;
    rest = name.startsWith('k:')
      ? withoutItem(rest, name, below, path, tell)
      : withoutField(rest, name, below, path, tell);
  }
  return rest;
}

function withoutField(
  value: unknown,
  name: string,
  below: FieldSet,
  path: string,
  tell: (path: string) => void,
): unknown {
  if (!name.startsWith('f:') || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const field = name.slice(2);
  if (!Object.hasOwn(value, field)) return value;
  const { [field]: inner, ...others } = value as Record<string, unknown>;
  const where = path === '' ? field : `${path}.${field}`;
  if (isLeaf(below)) {
    tell(where);
    return others;
  }
  return { ...others, [field]: removed(inner, below, where, tell) };
}

/** An item of a list that is named by some of its fields. Itself it stays: who owns a part of it does not own the rest. */
function withoutItem(
  value: unknown,
  name: string,
  below: FieldSet,
  path: string,
  tell: (path: string) => void,
): unknown {
  if (!Array.isArray(value)) return value;
  const keys = Object.entries(JSON.parse(name.slice(2)) as Record<string, unknown>);
  return value.map((item: unknown) => {
    const fields = item as Record<string, unknown>;
    if (!keys.every(([key, value]) => (fields[key] ?? defaultOf(key)) === value)) return item;
    const inner = Object.fromEntries(Object.entries(below).filter(([key]) => !keys.some(([k]) => key === `f:${k}`)));
    return removed(item, inner, `${path}[${String(keys[0]?.[1])}]`, tell);
  });
}

/** A port's protocol is part of its name in a list, and need not be said. */
function defaultOf(key: string): unknown {
  return key === 'protocol' ? 'TCP' : undefined;
}

function isLeaf(fields: FieldSet): boolean {
  return Object.keys(fields).every((name) => name === '.');
}
