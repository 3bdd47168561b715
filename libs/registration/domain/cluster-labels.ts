import {
  Labels,
  parseLabelSelector,
  selectsLabels,
  type Cluster,
  type ClusterChange,
  type ClusterFilter,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** The labels after a change: null takes one away. INVALID_ARGUMENT if they are too many then. */
export function changedLabels(before: Cluster['labels'], change: ClusterChange['labels'] = {}): Cluster['labels'] {
  const pairs = Object.entries({ ...before, ...change }).filter((pair): pair is [string, string] => pair[1] !== null);
  const { data, error } = Labels.safeParse(Object.fromEntries(pairs));
  if (data) return data;
  throw new FairleadError('INVALID_ARGUMENT', `labels: ${error.issues[0]?.message}; this would be ${pairs.length}`);
}

/** Says of a cluster whether it is meant. */
export function clusterFilter({ selector, status, name }: ClusterFilter): (cluster: Cluster) => boolean {
  const requirements = selector === undefined ? [] : parseLabelSelector(selector);
  return (cluster) =>
    (status === undefined || cluster.presence.state === status) &&
    (name === undefined || isLike(cluster.name, name)) &&
    selectsLabels(requirements, cluster.labels);
}

/** `*` stands for any part. No regular expression: many stars would make one try for years. */
function isLike(name: string, pattern: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return name === start;
  if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false;
  let rest = name.slice(start.length, name.length - end.length);
  for (const part of parts) {
    const at = rest.indexOf(part);
    if (at === -1) return false;
    rest = rest.slice(at + part.length);
  }
  return true;
}
