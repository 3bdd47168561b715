import type { Caller, CatalogRepository } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Actor } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { specsInUse } from '../store/assignment-store.js';
import {
  countRepositories,
  deleteRepository,
  ensureRepository,
  findRepository,
  listRepositories,
  updateRepository,
  type StoredRepository,
} from '../store/repository-store.js';
import { lockCatalog } from '../store/locks.js';
import { touchClusters } from '../store/cluster-store.js';
import type { KeysPort } from './keys-port.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';

/** Their list is one answer. */
const MAX_REPOSITORIES = 200;

/** Of deploy keys that the Git host's API can replace: nobody has to do anything for it. */
const USUAL_ROTATION_SECONDS = 90 * 86_400;

export interface NewRepository {
  readonly name: string;
  readonly gitHost: string;
  readonly path: string;
  readonly create: boolean;
  /** Null: never. Undefined: as it is; of a new one, as is usual where it needs nobody, and else never. */
  readonly rotateKeysEverySeconds?: number | null | undefined;
  readonly actor: string;
}

/** The repositories that clusters follow. */
export class Repositories {
  constructor(
    private readonly runtime: Runtime,
    private readonly keys: KeysPort,
  ) {}

  /**
   * Asks its Git host for it first. The same again takes over what the host says now, and the spec of its keys; ALREADY_EXISTS:
   * another repository has that name. Throws what keys and the host say.
   */
  async add(caller: Caller, tenantId: string, spec: NewRepository): Promise<CatalogRepository> {
    const { name, gitHost, path, create, rotateKeysEverySeconds } = spec;
    const opened = await this.keys.openRepository(tenantId, { host: gitHost, path, create });
    const { hostId, sshUrl, defaultBranch, created: createdThere } = opened;
    const actor = operatorOf(caller, spec.actor);
    return commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const usual = opened.keysByHand ? null : USUAL_ROTATION_SECONDS;
      const rotateKeysSeconds = rotateKeysEverySeconds === undefined ? usual : rotateKeysEverySeconds;
      const row = { tenantId, name, gitHost, hostId, path, sshUrl, defaultBranch, rotateKeysSeconds };
      const { repository, created } = await ensureRepository(manager, row);
      if (repository.hostId !== hostId || repository.path !== path) {
        throw new FairleadError(
          'ALREADY_EXISTS',
          `the repository ${name} is ${repository.path} of ${repository.gitHost}`,
        );
      }
      if (!created) {
        const kept = rotateKeysEverySeconds === undefined ? repository.rotateKeysSeconds : rotateKeysEverySeconds;
        return this.#refresh(manager, repository, { sshUrl, defaultBranch, rotateKeysSeconds: kept }, actor);
      }
      if ((await countRepositories(manager, tenantId)) > MAX_REPOSITORIES) {
        throw new FairleadError('CONFLICT', `there are ${MAX_REPOSITORIES} repositories already`);
      }
      const about = aboutRepository(repository, actor);
      const data = { ...about, gitHost, path, created: createdThere, rotateKeysEverySeconds: rotateKeysSeconds };
      await tell(this.runtime, manager, 'dev.fairlead.catalog-repository.added.v1', data);
      return show(repository);
    });
  }

  async #refresh(
    manager: EntityManager,
    before: StoredRepository,
    after: Pick<StoredRepository, 'sshUrl' | 'defaultBranch' | 'rotateKeysSeconds'>,
    actor: Actor,
  ): Promise<CatalogRepository> {
    const { id, tenantId } = before;
    const moved = before.sshUrl !== after.sshUrl || before.defaultBranch !== after.defaultBranch;
    const paced = before.rotateKeysSeconds !== after.rotateKeysSeconds;
    if (moved || paced) await updateRepository(manager, id, after);
    if (moved) await touchClusters(manager, { tenantId }, this.runtime.now());
    if (paced) {
      const data = { ...aboutRepository(before, actor), rotateKeysEverySeconds: after.rotateKeysSeconds };
      await tell(this.runtime, manager, 'dev.fairlead.catalog-repository.changed.v1', data);
    }
    return show({ ...before, ...after });
  }

  async list(tenantId: string): Promise<CatalogRepository[]> {
    const rows = await read(this.runtime, (manager) => listRepositories(manager, tenantId));
    return rows.map(show);
  }

  /** CONFLICT while an assignment, or a cluster, follows it. What is on the Git host stays. */
  async remove(caller: Caller, tenantId: string, name: string, actor: string): Promise<void> {
    await commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const repository = await findRepository(manager, tenantId, name);
      const user = (await specsInUse(manager, tenantId)).find(({ repository }) => repository === name);
      if (user) throw new FairleadError('CONFLICT', `the assignment ${user.name} needs the repository ${name}`);
      await deleteRepository(manager, repository.id);
      const about = aboutRepository(repository, operatorOf(caller, actor));
      await tell(this.runtime, manager, 'dev.fairlead.catalog-repository.removed.v1', about);
    });
  }
}

function aboutRepository({ id, tenantId, name }: StoredRepository, actor: Actor) {
  return { tenantId, subject: `repository/${id}`, actor, reason: 'OK', repositoryId: id, name };
}

function show(row: StoredRepository): CatalogRepository {
  const { id, name, gitHost, path, sshUrl, defaultBranch, rotateKeysSeconds, createdAt } = row;
  const repository = { id, name, gitHost, path, sshUrl, defaultBranch };
  return { ...repository, rotateKeysEverySeconds: rotateKeysSeconds, createdAt: createdAt.toISOString() };
}
