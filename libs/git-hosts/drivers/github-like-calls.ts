import { z } from 'zod';
import type { Repository } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { readPages, type Pages } from '../http/pages.js';
import type { Limits } from '../limits.js';
import type { RepositoryPath } from '../repository-path.js';
import { branchName, hostId, keyText, keyTitle, shortText, sshUrl, type HostApi, type HostKey } from './host-api.js';

interface GithubLikeCalls {
  readonly http: GitHttp;
  readonly limits: Limits;
  readonly repositoryShape: z.ZodType<Repository>;
  /** The query of the first page of keys, and how the one after a page is asked for. */
  readonly firstKeys: string;
  readonly nextKeys: Pages<HostKey>['next'];
  /** The branch that was answered, and its commit. */
  readonly branchShape: z.ZodType<{ name: string; commit: string }>;
}

/** What both say of a repository alike, and in the same words. */
export const repositoryFields = {
  id: hostId,
  name: shortText,
  owner: z.object({ login: shortText }),
  private: z.boolean(),
  default_branch: branchName,
  archived: z.boolean(),
  ssh_url: sshUrl,
};

export function toRepository(
  from: z.infer<z.ZodObject<typeof repositoryFields>>,
  visibility: Repository['visibility'],
): Repository {
  const { id, owner, name, ssh_url: url, default_branch: branch, archived } = from;
  return {
    path: { owner: owner.login, name },
    id: String(id),
    sshUrl: url,
    defaultBranch: branch || null,
    visibility,
    archived,
  };
}

/** What both say of a deploy key; Gitea's are never disabled. */
export const keyShape = z
  .object({ id: hostId, title: keyTitle, key: keyText, read_only: z.boolean(), enabled: z.boolean().default(true) })
  .transform(({ id, read_only: readOnly, ...key }): HostKey => ({ id: String(id), readOnly, ...key }));

/** Makes a repository of the user whose token it is, or of an organisation. */
export async function createAt(
  http: GitHttp,
  { owner, name }: RepositoryPath,
  isOwn: boolean,
  shape: z.ZodType<Repository>,
  signal: AbortSignal,
): Promise<Repository> {
  const what = 'create the repository';
  const path = isOwn ? '/user/repos' : `/orgs/${encodeURIComponent(owner)}/repos`;
  const body = { name, private: true, auto_init: true };
  const answer = await http.send({ what, method: 'POST', path, body, expect: [201] }, signal);
  return readAs(shape, answer.body, what);
}

/**
 * May the token add deploy keys? Found by a request without a key, which is refused as incomplete (422) only where it would be allowed (else
 * 403 or 404).
 */
export async function verdictOnKeys(
  http: GitHttp,
  repository: string,
  signal: AbortSignal,
): Promise<'granted' | 'missing'> {
  const what = "check the token's rights";
  const expect = [422, 403, 404];
  const tried = await http.send({ what, method: 'POST', path: `${repository}/keys`, body: {}, expect }, signal);
  return tried.status === 422 ? 'granted' : 'missing';
}

/** Of a repository, below the API's base. */
export function repositoryAt({ owner, name }: RepositoryPath): string {
  return `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}

/** The calls where Gitea's API is as GitHub's. */
export function githubLikeCalls(
  options: GithubLikeCalls,
): Omit<HostApi, 'kind' | 'nested' | 'rights' | 'createRepository'> {
  const { http, limits, repositoryShape, branchShape, firstKeys: query, nextKeys: next } = options;
  return {
    async repository(path, signal) {
      const what = 'find the repository';
      const answer = await http.send({ what, path: repositoryAt(path), expect: [200, 404] }, signal);
      return answer.status === 404 ? null : readAs(repositoryShape, answer.body, what);
    },

    keys(path, signal) {
      const ask = { what: 'list the deploy keys', path: `${repositoryAt(path)}/keys`, query, expect: [200] };
      return readPages(http, { ask, entry: z.array(keyShape).max(100), next, limits }, signal);
    },

    ...keyCalls(http),

    async branch(path, branch, signal) {
      const what = 'look up the branch';
      const where = `${repositoryAt(path)}/branches/${encodeURIComponent(branch)}`;
      const answer = await http.send({ what, path: where, expect: [200, 404] }, signal);
      if (answer.status === 404) return null;
      const { name, commit } = readAs(branchShape, answer.body, what);
      // A renamed branch is answered by a redirect to its new name, which is not the branch that was asked for.
      return name === branch ? commit : null;
    },
  };
}

function keyCalls(http: GitHttp): Pick<HostApi, 'key' | 'createKey' | 'deleteKey'> {
  return {
    async key(path, id, signal) {
      const what = 'find the deploy key';
      const answer = await http.send({ what, path: `${repositoryAt(path)}/keys/${id}`, expect: [200, 404] }, signal);
      return answer.status === 404 ? null : readAs(keyShape, answer.body, what);
    },

    async createKey(path, { title, key }, signal) {
      const what = 'add a deploy key';
      const body = { title, key, read_only: true };
      const answer = await http.send(
        { what, method: 'POST', path: `${repositoryAt(path)}/keys`, body, expect: [201] },
        signal,
      );
      return readAs(keyShape, answer.body, what);
    },

    async deleteKey(path, id, signal) {
      const what = 'remove a deploy key';
      const expect = [204, 404];
      const answer = await http.send(
        { what, method: 'DELETE', path: `${repositoryAt(path)}/keys/${id}`, expect },
        signal,
      );
      return answer.status === 204;
    },
  };
}
