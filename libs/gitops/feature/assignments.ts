import { isDeepStrictEqual } from 'node:util';
import {
  expectRevision,
  revisionOf,
  type Assignment,
  type Caller,
  type Expecting,
  type GitHostEntry,
  type ShownAssignment,
} from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import { checkAssignment } from '../domain/check-assignment.js';
import { whyNotThrough } from '../domain/compute-spec.js';
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
import { findRepository, type StoredRepository } from '../store/repository-store.js';
import { lockRolloutOf } from '../store/rollout-store.js';
import type { Rollouts } from './rollouts.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';

/** Of all of a tenant together: their list is one answer. */
const MAX_ALL_BYTES = 192 * 1_024;

export interface AskedBy extends Expecting {
  readonly actor: string;
}

/** A Git host as keys shows it; undefined: it does not. */
export type HostOf = (tenantId: string, id: string) => GitHostEntry | undefined;

/** What is desired of which clusters. */
export class Assignments {
  constructor(
    private readonly runtime: Runtime,
    private readonly rollouts: Rollouts,
    private readonly hostOf: HostOf,
  ) {}

  /**
   * Begins its rollout; the same again begins none, whatever was seen before. NOT_FOUND: a bundle, repository or cluster that is not there.
   * REVISION_CONFLICT, TOO_LARGE, INVALID_ARGUMENT.
   */
  async put(
    caller: Caller,
    tenantId: string,
    spec: Assignment,
    { actor, ifRevision }: AskedBy,
  ): Promise<ShownAssignment> {
    return commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const before = await lockAssignment(manager, tenantId, spec.name);
      const underWay = before !== null && (await isUnderWay(manager, before, spec));
      if (!underWay) expectRevision(`the assignment ${spec.name}`, before ? revisionOf(before.spec) : null, ifRevision);
      checkAssignment(spec, before?.spec);
      await this.#checkNames(manager, tenantId, spec);
      if (underWay) return shown(spec);
      const version = (before?.version ?? 0) + 1;
      const { stable = null, stableVersion = 0 } = before ?? {};
      await saveAssignment(manager, { tenantId, name: spec.name, version, spec, stable, stableVersion });
      await checkRoom(manager, tenantId);
      await this.rollouts.begin(manager, tenantId, spec, version, operatorOf(caller, actor));
      await touchClusters(manager, { tenantId }, this.runtime.now());
      const { name, tool, bundleVersion, repository } = spec;
      const about = { tenantId, subject: `assignment/${name}`, actor: operatorOf(caller, actor), reason: 'OK' };
      const data = { ...about, name, version, tool, bundleVersion, repository };
      await tell(this.runtime, manager, 'dev.fairlead.assignment.put.v1', data);
      return shown(spec);
    });
  }

  async list(tenantId: string): Promise<ShownAssignment[]> {
    const rows = await read(this.runtime, (manager) => listAssignments(manager, tenantId));
    return rows.map(({ spec }) => shown(spec));
  }

  /** NOT_FOUND if there is none of that name. REVISION_CONFLICT. */
  async remove(
    caller: Caller,
    tenantId: string,
    { name, remove, actor, ifRevision }: AskedBy & { name: string; remove: 'keep' | 'tool' | 'everything' },
  ): Promise<void> {
    await commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const before = await lockAssignment(manager, tenantId, name);
      if (!before) throw new FairleadError('NOT_FOUND', `there is no assignment named ${name}`);
      expectRevision(`the assignment ${name}`, revisionOf(before.spec), ifRevision);
      await this.rollouts.abandon(manager, tenantId, name, 'the assignment was removed', operatorOf(caller, actor));
      await removeFrom(manager, tenantId, name, remove);
      await deleteAssignment(manager, tenantId, name);
      await touchClusters(manager, { tenantId }, this.runtime.now());
      const about = { tenantId, subject: `assignment/${name}`, actor: operatorOf(caller, actor), reason: 'OK' };
      await tell(this.runtime, manager, 'dev.fairlead.assignment.removed.v1', { ...about, name, remove });
    });
  }

  async #checkNames(manager: EntityManager, tenantId: string, spec: Assignment): Promise<void> {
    const { tool, bundleVersion: version, repository: named, selector } = spec;
    await findBundle(manager, { tenantId, tool, version });
    if (named !== null) {
      const repository = await findRepository(manager, tenantId, named);
      checkFollowed(spec, repository, this.hostOf(tenantId, repository.hostId));
    }
    if ('cluster' in selector && !(await findClusterByName(manager, tenantId, selector.cluster))) {
      throw new FairleadError('NOT_FOUND', `there is no cluster named ${selector.cluster}`);
    }
  }
}

/** INVALID_ARGUMENT if clusters could not follow it so. */
function checkFollowed({ branch, gitThrough }: Assignment, repository: StoredRepository, host?: GitHostEntry): void {
  if (branch === undefined && repository.defaultBranch === null) {
    const message = `the Git host names no default branch of ${repository.name}: name one`;
    throw new FairleadError('INVALID_ARGUMENT', message);
  }
  if (gitThrough === undefined) return;
  if (!host) throw new FairleadError('UNAVAILABLE', `the Git host ${repository.gitHost} is not known here yet`);
  const why = whyNotThrough(gitThrough, host);
  if (why !== null) throw new FairleadError('INVALID_ARGUMENT', why);
}

function shown(spec: Assignment): ShownAssignment {
  return { ...spec, revision: revisionOf(spec) };
}

async function isUnderWay(manager: EntityManager, before: StoredAssignment, spec: Assignment): Promise<boolean> {
  if (!isDeepStrictEqual(before.spec, spec)) return false;
  if (isDeepStrictEqual(before.stable, spec)) return true;
  return (await lockRolloutOf(manager, before.tenantId, spec.name)) !== null;
}

async function checkRoom(manager: EntityManager, tenantId: string): Promise<void> {
  const specs = (await listAssignments(manager, tenantId)).map(({ spec }) => spec);
  if (Buffer.byteLength(JSON.stringify(specs)) <= MAX_ALL_BYTES && specs.length <= 500) return;
  throw new FairleadError('TOO_LARGE', `all assignments together have at most ${MAX_ALL_BYTES} bytes`);
}
