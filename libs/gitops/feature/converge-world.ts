import type { BundleReference, Tool } from '@fairlead/desired-state';
import type { GitHostEntry } from '@fairlead/contracts';
import type { KeyedRateLimit } from '@fairlead/limits';
import type { EntityManager } from 'typeorm';
import { type SelectedAssignment, selectAssignment, type Selectable } from '../domain/select-assignment.js';
import { allAssignments, type StoredAssignment } from '../store/assignment-store.js';
import { allBreakers } from '../store/breaker-store.js';
import { allBundles } from '../store/bundle-store.js';
import { allRepositories, type StoredRepository } from '../store/repository-store.js';
import { runningRollouts } from '../store/rollout-store.js';

/** All that what is desired of a cluster follows from, but for the cluster itself. Read once for many clusters. */
export interface World {
  selected(tenantId: string, cluster: Selectable): SelectedAssignment | undefined;
  bundle(tenantId: string, tool: Tool, version: string): BundleReference | undefined;
  repository(tenantId: string, name: string): StoredRepository | undefined;
  host(tenantId: string, id: string): GitHostEntry | undefined;
  holdRepairs(tenantId: string): boolean;
  /** What each cluster has left of revisions that only its installer's report asks for. */
  readonly leaps: KeyedRateLimit;
}

export interface WorldSources {
  /** As keys shows them. */
  readonly hostOf: (tenantId: string, id: string) => GitHostEntry | undefined;
  readonly leaps: KeyedRateLimit;
}

export async function readWorld(manager: EntityManager, { hostOf, leaps }: WorldSources): Promise<World> {
  const assignments = await allAssignments(manager);
  const rolling = new Set((await runningRollouts(manager)).map((each) => keyOf(each.tenantId, each.assignment)));
  const breakers = await allBreakers(manager);
  const holding = new Set(breakers.filter(({ heldRepairs }) => heldRepairs).map(({ tenantId }) => tenantId));
  const bundles = new Map(
    (await allBundles(manager)).map((row): [string, BundleReference] => {
      const { tenantId, tool, version, digest, bytes, compressedBytes } = row;
      return [keyOf(tenantId, tool, version), { digest, version, bytes, compressedBytes }];
    }),
  );
  const repositories = new Map((await allRepositories(manager)).map((row) => [keyOf(row.tenantId, row.name), row]));
  return {
    selected: (tenantId, cluster) =>
      selectedOf(
        assignments.filter((each) => each.tenantId === tenantId),
        rolling,
        cluster,
      ),
    bundle: (tenantId, tool, version) => bundles.get(keyOf(tenantId, tool, version)),
    repository: (tenantId, name) => repositories.get(keyOf(tenantId, name)),
    host: hostOf,
    holdRepairs: (tenantId) => holding.has(tenantId),
    leaps,
  };
}

const keyOf = (...parts: string[]): string => parts.join(' ');

function selectedOf(
  assignments: readonly StoredAssignment[],
  rolling: ReadonlySet<string>,
  cluster: Selectable,
): SelectedAssignment | undefined {
  const candidates = assignments.map((assignment) => ({ ...assignment.spec, assignment }));
  const found = selectAssignment(candidates, cluster)?.assignment;
  if (!found) return undefined;
  const { tenantId, name, stable, stableVersion } = found;
  return { name, stable, stableVersion, rollingOut: rolling.has(keyOf(tenantId, name)) };
}
