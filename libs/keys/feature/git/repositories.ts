import { FairleadError } from '@fairlead/errors';
import {
  parseRepositoryPath,
  type GitHost,
  type Repository,
  type RepositoryPath,
  type RightsReport,
} from '@fairlead/git-hosts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { HostFailure, asked, isOfTheHost, naming } from '../../domain/host-failure.js';
import { clusterSshUrl, usualSshUrl } from '../../domain/ssh-address.js';
import { saveFindings, type StoredGitHost } from '../../store/git-host-store.js';
import { assertRights, existingHost, type GitRuntime } from './git-hosts.js';
import type { HostAccess } from './host-access.js';
import type { HostProblems } from './host-problem.js';

export interface OpenedRepository {
  readonly hostId: string;
  readonly created: boolean;
  readonly sshUrl: string;
  readonly defaultBranch: string | null;
  /** Does somebody have to add deploy keys there? */
  readonly keysByHand: boolean;
  readonly head: string | null;
}

interface RepositoryRequest {
  readonly host: string;
  readonly path: string;
  readonly create: boolean;
  readonly branch?: string | undefined;
}

/** Repositories on the hosts that are configured. */
export class Repositories {
  constructor(
    private readonly runtime: GitRuntime,
    private readonly access: HostAccess,
    private readonly problems: HostProblems,
  ) {}

  /**
   * What is there, or is made if that is asked for and the host was configured for it; and whether its deploy keys can be kept, which only
   * now can be found out. NOT_FOUND, GIT_RIGHTS_MISSING, RATE_LIMITED and what else a host fails with.
   */
  async open(tenantId: string, request: RepositoryRequest): Promise<OpenedRepository> {
    const path = parseRepositoryPath(request.path);
    const host = await readFrom(this.runtime.database, (manager) => existingHost(manager, tenantId, request.host));
    this.#assertMayAsk(host);
    try {
      await using remote = await this.access.open(host);
      const opened = await this.#open(host, remote, path, request);
      await this.problems.clear(host);
      return opened;
    } catch (error) {
      if (!(error instanceof HostFailure)) throw error;
      if (isOfTheHost(error.error)) await this.problems.record(host, error.error);
      throw naming(host, error.error);
    }
  }

  async #open(
    host: StoredGitHost,
    remote: GitHost,
    path: RepositoryPath,
    request: RepositoryRequest,
  ): Promise<OpenedRepository> {
    const found = await asked(() => remote.findRepository(path));
    if (found.state === 'unknown') {
      const sshUrl = usualSshUrl(host, request.path);
      return { hostId: host.id, created: false, sshUrl, defaultBranch: null, keysByHand: isByHand(host), head: null };
    }
    const made = found.state === 'found' ? found.repository : await this.#create(host, remote, path, request);
    await this.#checkRights(host, remote, path);
    const { defaultBranch } = made;
    const sshUrl = await asked(async () => clusterSshUrl(host, made.sshUrl));
    const head = request.branch === undefined ? null : await headOf(remote, path, request.branch);
    const created = found.state === 'absent';
    return { hostId: host.id, created, sshUrl, defaultBranch, keysByHand: isByHand(host), head };
  }

  async #create(
    host: StoredGitHost,
    remote: GitHost,
    path: RepositoryPath,
    { create, path: name }: RepositoryRequest,
  ): Promise<Repository> {
    if (!create) {
      const message = `there is no repository ${name} on ${host.name}, or the token may not see it`;
      throw new FairleadError('NOT_FOUND', message);
    }
    if (!host.createRepositories) {
      const message = `${host.name} is not configured to make repositories: allow it there, or make ${name} yourself`;
      throw new FairleadError('GIT_RIGHTS_MISSING', message);
    }
    return asked(() => remote.createRepository(path));
  }

  async #checkRights(host: StoredGitHost, remote: GitHost, repository: RepositoryPath): Promise<void> {
    const { createRepositories } = host;
    const report = await asked(() => remote.checkRights({ repository, createRepositories }));
    await inTransaction(this.runtime.database, (manager) =>
      saveFindings(manager, host, toStored(report), this.runtime.now()),
    );
    assertRights(report);
  }

  /** What a host asked for is kept, also by whoever asks for something else. */
  #assertMayAsk({ problemCode, retryAt }: StoredGitHost): void {
    if (problemCode !== 'RATE_LIMITED' || retryAt === null || retryAt <= this.runtime.now()) return;
    const retryAfterSeconds = Math.ceil((retryAt.getTime() - this.runtime.now().getTime()) / 1_000);
    const message = `the Git host wants no more requests until ${retryAt.toISOString()}`;
    const details = { retryAt: retryAt.toISOString(), retryAfterSeconds };
    throw new FairleadError('RATE_LIMITED', message, { details });
  }
}

async function headOf(remote: GitHost, path: RepositoryPath, branch: string): Promise<string | null> {
  const head = await asked(() => remote.branchHead(path, branch));
  return head.state === 'at' ? head.commit : null;
}

function toStored({ findings, expiresAt }: RightsReport) {
  return { findings: findings.map(({ verdict, right, why }) => ({ verdict, right, why })), expiresAt };
}

function isByHand({ kind }: StoredGitHost): boolean {
  return kind === 'manual';
}
