import { randomUUID } from 'node:crypto';
import type { ClusterEntry, GrantEntry, Subject } from '@fairlead/contracts';
import type { GrantsDirectory } from '@fairlead/gateway/parts';

/** Somebody whom grants are looked up for. */
type Proven = Parameters<GrantsDirectory['index']['rulesOf']>[0];

/** What is granted in this bench: 100,000 grants, ten to each of 10,000 users. */
export const USERS = 10_000;
export const GRANTS_EACH = 10;
export const CLUSTERS = 100;
export const TENANT = 'default';

export function subjectOf(user: number): Subject {
  return { kind: 'user', name: `corp:user-${user}@example.com` };
}

/** Somebody who has logged in: the same object each time, as a replica has it. */
export function provenOf(user: number): Proven {
  const { name } = subjectOf(user);
  return { tenantId: TENANT, kind: 'login', user: name, subjectGroups: [] };
}

export function clusterOf(index: number): ClusterEntry {
  const labels = { stage: index % 3 === 0 ? 'production' : 'test', region: `region-${index % 5}` };
  return { tenantId: TENANT, clusterId: randomUUID(), name: `cluster-${index}`, generation: 1, labels };
}

/** By turns to all clusters of some labels, to a few by name, and for a time; narrowed as people narrow. */
export function grantsOf(user: number): GrantEntry[] {
  return Array.from({ length: GRANTS_EACH }, (_, i) => grantOf(user, i));
}

function grantOf(user: number, i: number): GrantEntry {
  const clusters =
    i % 2 === 0
      ? { selector: `stage in (test,staging),region=region-${i % 5}` }
      : { names: [`cluster-${(user + i) % CLUSTERS}`, `cluster-${(user + 7 * i) % CLUSTERS}`] };
  const expiresAt = i % 5 === 0 ? new Date(Date.now() + 7 * 86_400_000).toISOString() : null;
  const narrowing = {
    namespaces: [`team-${user % 50}`, `team-${i}`],
    ...(i % 3 === 0 ? { verbs: ['get', 'list', 'watch'] } : {}),
    ...(i % 4 === 0 ? { resources: ['pods', 'pods/log', 'deployments', 'configmaps'] } : {}),
  };
  const effect = i === 9 ? 'deny' : 'allow';
  const groups = effect === 'deny' ? [] : [i % 3 === 0 ? 'fairlead:view' : 'fairlead:edit'];
  return { rule: { grantId: randomUUID(), effect, groups, narrowing }, clusters, notBefore: null, expiresAt };
}
