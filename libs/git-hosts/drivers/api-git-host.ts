import { startDeadline } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { Call, DeployKey, GitHost, GitHostKind, NewDeployKey, RecordedKey, Repository } from '../git-host.js';
import type { GitHttp } from '../http/git-http.js';
import type { Limits } from '../limits.js';
import type { Ownership } from '../ownership.js';
import { checkBranch, parseRepositoryPath, repositoryText, type RepositoryPath } from '../repository-path.js';
import { readClusterKey } from '../ssh-public-key.js';
import { addKey, removeKey, toDeployKey } from './deploy-keys.js';
import { isUncertain, type HostApi } from './host-api.js';

interface ApiGitHostParts {
  readonly api: HostApi;
  readonly http: GitHttp;
  readonly ownership: Ownership;
  readonly limits: Limits;
}

/** The port over a host's API: what is the same for all of them. */
export class ApiGitHost implements GitHost {
  readonly kind: GitHostKind;

  constructor(private readonly parts: ApiGitHostParts) {
    this.kind = parts.api.kind;
  }

  checkRights: GitHost['checkRights'] = async (spec, call) => {
    if (spec.repository) this.#check(spec.repository);
    return this.#within("check the token's rights", call, (signal) => this.parts.api.rights(spec, signal));
  };

  findRepository: GitHost['findRepository'] = async (path, call) => {
    this.#check(path);
    return this.#within('find the repository', call, async (signal) => {
      const repository = await this.parts.api.repository(path, signal);
      return repository ? ({ state: 'found', repository } as const) : ({ state: 'absent' } as const);
    });
  };

  createRepository: GitHost['createRepository'] = async (path, call) => {
    this.#check(path);
    return this.#within('create the repository', call, (signal) => this.#create(path, signal));
  };

  listDeployKeys: GitHost['listDeployKeys'] = async (path, call) => {
    this.#check(path);
    return this.#within('list the deploy keys', call, async (signal) => {
      return { state: 'listed', keys: await this.#keys(path, signal) } as const;
    });
  };

  addDeployKey = async (
    path: RepositoryPath,
    spec: NewDeployKey,
    call?: Call & { readonly known?: readonly DeployKey[] | undefined },
  ) => {
    this.#check(path);
    const { api, ownership } = this.parts;
    const key = readClusterKey(spec.publicKey);
    const title = ownership.titleOf(spec.label);
    return this.#within('add a deploy key', call, (signal) =>
      addKey({ api, ownership, path, signal, list: () => this.#keys(path, signal) }, { title, key }, call?.known),
    );
  };

  removeDeployKey = async (path: RepositoryPath, recorded: RecordedKey, call?: Call) => {
    this.#check(path);
    const { api, ownership } = this.parts;
    if (!/^[1-9]\d{0,18}$/.test(recorded.id))
      throw new FairleadError('INVALID_ARGUMENT', 'a deploy key is recorded by the number its host gave it');
    return this.#within('remove a deploy key', call, (signal) =>
      removeKey({ api, ownership, path, signal, list: () => this.#keys(path, signal) }, recorded),
    );
  };

  branchHead: GitHost['branchHead'] = async (path, branch, call) => {
    this.#check(path);
    checkBranch(branch);
    return this.#within('look up the branch', call, async (signal) => {
      const commit = await this.parts.api.branch(path, branch, signal);
      if (commit !== null) return { state: 'at', commit } as const;
      await this.#mustExist(path, signal);
      return { state: 'absent' } as const;
    });
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.parts.http[Symbol.asyncDispose]();
  }

  /** A path made by hand is checked like one that was parsed. */
  #check(path: RepositoryPath): void {
    parseRepositoryPath(repositoryText(path), { nested: this.parts.api.nested });
  }

  async #within<T>(what: string, call: Call | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ms = this.parts.limits.callTimeoutMs;
    const late = () => new FairleadError('DEADLINE_EXCEEDED', `${what}: the Git host did not answer in time`);
    const deadline = startDeadline(call?.signal ?? new AbortController().signal, ms, late);
    try {
      return await work(deadline.signal);
    } finally {
      deadline.clear();
    }
  }

  async #keys(path: RepositoryPath, signal: AbortSignal): Promise<DeployKey[]> {
    const { api, ownership } = this.parts;
    try {
      return (await api.keys(path, signal)).map((key) => toDeployKey(key, ownership));
    } catch (error) {
      if (!(error instanceof FairleadError) || error.code !== 'NOT_FOUND') throw error;
      // Hosts hide what one may not do: if the repository is to be seen, its keys are what is not.
      await this.#mustExist(path, signal);
      const { details } = error;
      const message = 'the token may see the repository, and not its deploy keys';
      throw new FairleadError('GIT_RIGHTS_MISSING', message, { cause: error, ...(details ? { details } : {}) });
    }
  }

  async #mustExist(path: RepositoryPath, signal: AbortSignal): Promise<void> {
    if (await this.parts.api.repository(path, signal)) return;
    const what = `the repository ${repositoryText(path)} is not on the Git host, or the token may not see it`;
    throw new FairleadError('NOT_FOUND', what);
  }

  async #create(path: RepositoryPath, signal: AbortSignal): Promise<Repository> {
    const { api } = this.parts;
    const exists = (cause?: unknown) =>
      new FairleadError('ALREADY_EXISTS', `there is a repository ${repositoryText(path)}`, { cause });
    if (await api.repository(path, signal)) throw exists();
    const made = await api.createRepository(path, signal).catch(async (error: unknown) => {
      if (!(error instanceof FairleadError)) throw error;
      const refused = error.code === 'CONFLICT' || error.code === 'INVALID_ARGUMENT';
      const found = refused || isUncertain(error) ? await api.repository(path, signal) : null;
      if (found && refused) throw exists(error);
      // There was none a moment ago: it is the one whose answer was lost.
      if (found) return found;
      throw error;
    });
    if (made.visibility === 'private') return made;
    throw new FairleadError('CONFLICT', `the Git host made ${repositoryText(path)}, but not private: look into it`);
  }
}
