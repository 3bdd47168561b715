import { isDeepStrictEqual } from 'node:util';
import type { Assignment, Caller } from '@fairlead/contracts';
import { CatalogSource } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { pathOf } from '../domain/compute-wish.js';
import {
  deleteAssignment,
  listAssignments,
  lockAssignment,
  saveAssignment,
  type StoredAssignment,
} from '../store/assignment-store.js';
import { findBundle } from '../store/bundle-store.js';
import { lockCatalog } from '../store/locks.js';
import { findClusterByName, removeFrom, touchClusters } from '../store/cluster-store.js';
import { findRepository } from '../store/repository-store.js';
import { lockRolloutOf } from '../store/rollout-store.js';
import type { Rollouts } from './rollouts.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';
import type { EntityManager } from 'typeorm';

/** Of one, as JSON: what it makes of a cluster has to fit into a desired state. */
const MAX_BYTES = 24_000;
/** Of all of a tenant together: their list is one answer. */
const MAX_ALL_BYTES = 192 * 1_024;

/** What is wanted of which clusters. */
export class Assignments {
  readonly #runtime: Runtime;
  readonly #rollouts: Rollouts;

  constructor(runtime: Runtime, rollouts: Rollouts) {
    this.#runtime = runtime;
    this.#rollouts = rollouts;
  }

  /**
   * Begins its rollout; the same again begins none. NOT_FOUND: a bundle, repository or cluster that is not there. TOO_LARGE,
   * INVALID_ARGUMENT.
   */
  async put(caller: Caller, tenantId: string, spec: Assignment, actor: string): Promise<Assignment> {
    checkPath(spec);
    if (Buffer.byteLength(JSON.stringify(spec)) > MAX_BYTES) {
      throw new FairleadError('TOO_LARGE', `an assignment has at most ${MAX_BYTES} bytes`);
    }
    return commit(this.#runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      await checkNames(manager, tenantId, spec);
      const before = await lockAssignment(manager, tenantId, spec.name);
      if (before && (await isUnderWay(manager, before, spec))) return spec;
      const version = (before?.version ?? 0) + 1;
      const { stable = null, stableVersion = 0 } = before ?? {};
      await saveAssignment(manager, { tenantId, name: spec.name, version, spec, stable, stableVersion });
      await checkRoom(manager, tenantId);
      await this.#rollouts.begin(manager, tenantId, spec, version, operatorOf(caller, actor));
      await touchClusters(manager, { tenantId }, this.#runtime.now());
      const { name, tool, bundleVersion, repository } = spec;
      const about = { tenantId, subject: `assignment/${name}`, actor: operatorOf(caller, actor), reason: 'OK' };
      const data = { ...about, name, version, tool, bundleVersion, repository };
      await tell(this.#runtime, manager, 'dev.fairlead.assignment.put.v1', data);
      return spec;
    });
  }

  async list(tenantId: string): Promise<Assignment[]> {
    const rows = await read(this.#runtime, (manager) => listAssignments(manager, tenantId));
    return rows.map(({ spec }) => spec);
  }

  /** NOT_FOUND if there is none of that name. */
  async remove(
    caller: Caller,
    tenantId: string,
    { name, remove, actor }: { name: string; remove: 'keep' | 'tool' | 'everything'; actor: string },
  ): Promise<void> {
    await commit(this.#runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      if (!(await lockAssignment(manager, tenantId, name))) {
        throw new FairleadError('NOT_FOUND', `there is no assignment named ${name}`);
      }
      await this.#rollouts.abandon(manager, tenantId, name, 'the assignment was removed', operatorOf(caller, actor));
      await removeFrom(manager, tenantId, name, remove);
      await deleteAssignment(manager, tenantId, name);
      await touchClusters(manager, { tenantId }, this.#runtime.now());
      const about = { tenantId, subject: `assignment/${name}`, actor: operatorOf(caller, actor), reason: 'OK' };
      await tell(this.#runtime, manager, 'dev.fairlead.assignment.removed.v1', { ...about, name, remove });
    });
  }
}

async function isUnderWay(manager: EntityManager, before: StoredAssignment, spec: Assignment): Promise<boolean> {
  if (!isDeepStrictEqual(before.spec, spec)) return false;
  if (isDeepStrictEqual(before.stable, spec)) return true;
  return (await lockRolloutOf(manager, before.tenantId, spec.name)) !== null;
}

function checkPath({ path }: Assignment): void {
  const longest = 'x'.repeat(63);
  if (CatalogSource.shape.path.safeParse(pathOf(path, longest)).success) return;
  throw new FairleadError('INVALID_ARGUMENT', 'the path is not one below the root of a repository');
}

async function checkNames(manager: EntityManager, tenantId: string, spec: Assignment): Promise<void> {
  const { tool, bundleVersion: version, repository, branch, selector } = spec;
  await findBundle(manager, { tenantId, tool, version });
  if (repository !== null) {
    const { defaultBranch } = await findRepository(manager, tenantId, repository);
    if (branch === undefined && defaultBranch === null) {
      throw new FairleadError('INVALID_ARGUMENT', `the Git host names no default branch of ${repository}: name one`);
    }
  }
  if ('cluster' in selector && !(await findClusterByName(manager, tenantId, selector.cluster))) {
    throw new FairleadError('NOT_FOUND', `there is no cluster named ${selector.cluster}`);
  }
}

async function checkRoom(manager: EntityManager, tenantId: string): Promise<void> {
  const specs = (await listAssignments(manager, tenantId)).map(({ spec }) => spec);
  if (Buffer.byteLength(JSON.stringify(specs)) <= MAX_ALL_BYTES && specs.length <= 500) return;
  throw new FairleadError('TOO_LARGE', `all assignments together have at most ${MAX_ALL_BYTES} bytes`);
}
