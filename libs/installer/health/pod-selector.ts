import type { KubeObject } from '@fairlead/kube/rest';

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** What lists the pods of a workload; null: its selector has nothing to go by, or what we do not know, and no pod may be taken for its own. */
export function podSelectorOf(workload: KubeObject): string | null {
  const { selector = {} } = (workload['spec'] ?? {}) as { selector?: Selector };
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const terms: (string | null)[] = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of matchExpressions) terms.push(termOf(key, operator, values));
  return terms.length === 0 || terms.includes(null) ? null : terms.join(',');
}

function termOf(key: string, operator: string, values: readonly string[]): string | null {
  switch (operator) {
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'In':
      return values.length === 0 ? null : `${key} in (${values.join(',')})`;
    case 'NotIn':
      return values.length === 0 ? null : `${key} notin (${values.join(',')})`;
    default:
      return null;
  }
}
