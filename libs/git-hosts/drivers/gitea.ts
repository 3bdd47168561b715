import { z } from 'zod';
import type { Repository } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextOnGitea } from '../http/next-page.js';
import { readPages } from '../http/pages.js';
import type { Limits } from '../limits.js';
import type { RepositoryPath } from '../repository-path.js';
import { giteaRights } from './gitea-rights.js';
import type { HostApi, HostKey } from './host-api.js';
import { keyCalls } from './key-calls.js';
import { branchName, commitId, hostId, keyText, keyTitle, shortText, sshUrl } from './shapes.js';

// https://docs.gitea.com/api/ (repoGet, repoListKeys, repoGetBranch); Forgejo: https://codeberg.org/api/swagger
const repositoryShape = z.object({
  id: hostId,
  name: shortText,
  owner: z.object({ login: shortText }),
  private: z.boolean(),
  internal: z.boolean().optional(),
  default_branch: branchName,
  archived: z.boolean(),
  ssh_url: sshUrl,
});
const keyShape = z.object({ id: hostId, title: keyTitle, key: keyText, read_only: z.boolean() });
const keysShape = z.array(keyShape).max(100);
const branchShape = z.object({ name: shortText, commit: z.object({ id: commitId }) });

/** https://docs.gitea.com/development/api-usage#authentication */
export function giteaHeaders(token: string): Record<string, string> {
  return { authorization: `token ${token}` };
}

export function giteaApiBase(host: URL): URL {
  return new URL(`${host.origin}${host.pathname.replace(/\/$/, '')}/api/v1`);
}

export function giteaApi(http: GitHttp, limits: Limits): HostApi {
  const at = ({ owner, name }: RepositoryPath): string =>
    `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  return {
    kind: 'gitea',
    nested: false,
    rights: (wanted, signal) => giteaRights(http, wanted.repository ? at(wanted.repository) : null, wanted, signal),

    async repository(path, signal) {
      const what = 'find the repository';
      const answer = await http.send({ what, path: at(path), expect: [200, 404] }, signal);
      return answer.status === 404 ? null : toRepository(readAs(repositoryShape, answer.body, what));
    },

    async createRepository({ owner, name }, signal) {
      const what = 'create the repository';
      const where = (await ownerIsUs(http, owner, signal)) ? '/user/repos' : `/orgs/${encodeURIComponent(owner)}/repos`;
      const body = { name, private: true, auto_init: true };
      const answer = await http.send({ what, method: 'POST', path: where, body, expect: [201] }, signal);
      return toRepository(readAs(repositoryShape, answer.body, what));
    },

    async keys(path, signal) {
      // Gitea's own limit is 50 unless its administrator set another; a page may be shorter than asked for.
      const ask = { what: 'list the deploy keys', path: `${at(path)}/keys`, query: 'limit=50&page=1', expect: [200] };
      return (await readPages(http, { ask, entry: keysShape, next: nextOnGitea, limits }, signal)).map(toKey);
    },

    ...keyCalls({ http, at, keyShape, toKey }),

    async branch(path, branch, signal) {
      const what = 'look up the branch';
      const where = `${at(path)}/branches/${encodeURIComponent(branch)}`;
      const answer = await http.send({ what, path: where, expect: [200, 404] }, signal);
      if (answer.status === 404) return null;
      const { name, commit } = readAs(branchShape, answer.body, what);
      return name === branch ? commit.id : null;
    },
  };
}

/** Without the right to read whose token it is, the owner is taken for an organisation. */
async function ownerIsUs(http: GitHttp, owner: string, signal: AbortSignal): Promise<boolean> {
  const what = 'find out whose token it is';
  const answer = await http.send({ what, path: '/user', expect: [200, 403] }, signal);
  if (answer.status === 403) return false;
  const { login } = readAs(z.object({ login: shortText }), answer.body, what);
  return login.toLowerCase() === owner.toLowerCase();
}

function toKey({ id, title, key, read_only: readOnly }: z.infer<typeof keyShape>): HostKey {
  return { id: String(id), title, key, readOnly, enabled: true };
}

function toRepository(from: z.infer<typeof repositoryShape>): Repository {
  const closed = from.internal === true ? 'internal' : 'private';
  return {
    path: { owner: from.owner.login, name: from.name },
    id: String(from.id),
    sshUrl: from.ssh_url,
    defaultBranch: from.default_branch || null,
    visibility: from.private ? closed : 'public',
    archived: from.archived,
  };
}
