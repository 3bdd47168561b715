/** Any object of Kubernetes, as JSON. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly ManagedFields[];
  readonly [field: string]: unknown;
}

/** Who set which fields: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: FieldSet;
}

export interface FieldSet {
  readonly [field: string]: FieldSet;
}

/** What names an object. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export function refOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): ObjectRef {
  return namespace === undefined ? { apiVersion, kind, name } : { apiVersion, kind, namespace, name };
}

/** `Deployment flux-system/source-controller`, for people. */
export function shown({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** The same for each version of one object's API. */
export function keyOf({ apiVersion, kind, namespace = '', name }: ObjectRef): string {
  return `${apiVersion.includes('/') ? apiVersion.split('/')[0] : ''}/${kind}/${namespace}/${name}`;
}
