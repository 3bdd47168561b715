import type { KubeObject } from '@fairlead/kube/rest';

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

export interface Webhook {
  readonly name: string;
  readonly failurePolicy?: string;
  readonly clientConfig?: {
    readonly url?: string;
    readonly service?: { readonly namespace: string; readonly name: string };
  };
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[];
    readonly apiVersions?: readonly string[];
    readonly resources?: readonly string[];
    readonly operations?: readonly string[];
    readonly scope?: string;
  }[];
}

type Labels = Readonly<Record<string, string>>;

/**
 * Is this webhook asked about a write of the object, and does its silence forbid it? `namespaceLabels` are null for what is in no
 * namespace. Its match conditions, which need CEL, are taken to hold.
 */
export function concerns(webhook: Webhook, object: KubeObject, namespaceLabels: Labels | null): boolean {
  if ((webhook.failurePolicy ?? 'Fail') !== 'Fail') return false;
  if (!selects(webhook.objectSelector, object.metadata.labels ?? {})) return false;
  if (namespaceLabels !== null && !selects(webhook.namespaceSelector, namespaceLabels)) return false;
  const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
  return (webhook.rules ?? []).some(
    ({ apiGroups = [], apiVersions = [], resources = [], operations = [], scope = '*' }) =>
      has(apiGroups, group ?? '') &&
      has(apiVersions, version ?? '') &&
      resources.some((resource) => ['*', '*/*', pluralOf(object.kind)].includes(resource)) &&
      operations.some((operation) => ['*', 'CREATE', 'UPDATE'].includes(operation)) &&
      (scope === '*' || (scope === 'Namespaced') === (namespaceLabels !== null)),
  );
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors */
export function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value);
        case 'NotIn':
          return value === undefined || !values.includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return true;
      }
    })
  );
}

function has(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

/** As Kubernetes and the tools' generators form it. */
function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (name.endsWith('y')) return `${name.slice(0, -1)}ies`;
  return /(s|x|ch)$/.test(name) ? `${name}es` : `${name}s`;
}
