import type { Caller, CatalogRepository } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
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

export interface NewRepository {
  readonly name: string;
  readonly gitHost: string;
  readonly path: string;
  readonly create: boolean;
  readonly actor: string;
}

/** The repositories that clusters follow. */
export class Repositories {
  readonly #runtime: Runtime;
  readonly #keys: KeysPort;

  constructor(runtime: Runtime, keys: KeysPort) {
    this.#runtime = runtime;
    this.#keys = keys;
  }

  /**
   * Asks its Git host for it first. The same again takes over what the host says now; ALREADY_EXISTS: another repository has
   * that name. Throws what keys and the host say.
   */
  async add(caller: Caller, tenantId: string, wanted: NewRepository): Promise<CatalogRepository> {
    const { name, gitHost, path, create, actor } = wanted;
    const opened = await this.#keys.openRepository(tenantId, { host: gitHost, path, create });
    const { hostId, sshUrl, defaultBranch, created: createdThere } = opened;
    return commit(this.#runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const row = { tenantId, name, gitHost, hostId, path, sshUrl, defaultBranch };
      const { repository, created } = await ensureRepository(manager, row);
      if (repository.hostId !== hostId || repository.path !== path) {
        throw new FairleadError(
          'ALREADY_EXISTS',
          `the repository ${name} is ${repository.path} of ${repository.gitHost}`,
        );
      }
      if (!created) return this.#refresh(manager, repository, { sshUrl, defaultBranch });
      if ((await countRepositories(manager, tenantId)) > MAX_REPOSITORIES) {
        throw new FairleadError('CONFLICT', `there are ${MAX_REPOSITORIES} repositories already`);
      }
      const subject = `repository/${repository.id}`;
      const about = { tenantId, subject, actor: operatorOf(caller, actor), reason: 'OK' };
      const data = { ...about, repositoryId: repository.id, name, gitHost, path, created: createdThere };
      await tell(this.#runtime, manager, 'dev.fairlead.catalog-repository.added.v1', data);
      return show(repository);
    });
  }

  async #refresh(
    manager: EntityManager,
    repository: StoredRepository,
    said: Pick<StoredRepository, 'sshUrl' | 'defaultBranch'>,
  ): Promise<CatalogRepository> {
    const { id, tenantId, sshUrl, defaultBranch } = repository;
    if (sshUrl !== said.sshUrl || defaultBranch !== said.defaultBranch) {
      await updateRepository(manager, id, said);
      await touchClusters(manager, { tenantId }, this.#runtime.now());
    }
    return show({ ...repository, ...said });
  }

  async list(tenantId: string): Promise<CatalogRepository[]> {
    const rows = await read(this.#runtime, (manager) => listRepositories(manager, tenantId));
    return rows.map(show);
  }

  /** CONFLICT while an assignment, or a cluster, follows it. What is on the Git host stays. */
  async remove(caller: Caller, tenantId: string, name: string, actor: string): Promise<void> {
    await commit(this.#runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const { id } = await findRepository(manager, tenantId, name);
      const user = (await specsInUse(manager, tenantId)).find(({ repository }) => repository === name);
      if (user) throw new FairleadError('CONFLICT', `the assignment ${user.name} needs the repository ${name}`);
      await deleteRepository(manager, id);
      const about = { tenantId, subject: `repository/${id}`, actor: operatorOf(caller, actor), reason: 'OK' };
      await tell(this.#runtime, manager, 'dev.fairlead.catalog-repository.removed.v1', {
        ...about,
        repositoryId: id,
        name,
      });
    });
  }
}

function show({ id, name, gitHost, path, sshUrl, defaultBranch, createdAt }: StoredRepository): CatalogRepository {
  return { id, name, gitHost, path, sshUrl, defaultBranch, createdAt: createdAt.toISOString() };
}
