import { z } from 'zod';
import type { Repository } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextOnGitea } from '../http/pages.js';
import type { Limits } from '../limits.js';
import { giteaRights } from './gitea-rights.js';
import { githubLikeCalls, repositoryAt } from './github-like-calls.js';
import {
  type HostApi,
  type HostKey,
  branchName,
  commitId,
  hostId,
  keyText,
  keyTitle,
  shortText,
  sshUrl,
} from './host-api.js';

// https://docs.gitea.com/api/ (repoGet, repoListKeys, repoGetBranch); Forgejo: https://codeberg.org/api/swagger
const repositoryShape = z
  .object({
    id: hostId,
    name: shortText,
    owner: z.object({ login: shortText }),
    private: z.boolean(),
    internal: z.boolean().optional(),
    default_branch: branchName,
    archived: z.boolean(),
    ssh_url: sshUrl,
  })
  .transform((from): Repository => {
    const closed = from.internal === true ? 'internal' : 'private';
    return {
      path: { owner: from.owner.login, name: from.name },
      id: String(from.id),
      sshUrl: from.ssh_url,
      defaultBranch: from.default_branch || null,
      visibility: from.private ? closed : 'public',
      archived: from.archived,
    };
  });
const keyShape = z
  .object({ id: hostId, title: keyTitle, key: keyText, read_only: z.boolean() })
  .transform(({ id, title, key, read_only: readOnly }): HostKey => ({
    id: String(id),
    title,
    key,
    readOnly,
    enabled: true,
  }));
const branchShape = z
  .object({ name: shortText, commit: z.object({ id: commitId }) })
  .transform(({ name, commit }) => ({ name, commit: commit.id }));

/** https://docs.gitea.com/development/api-usage#authentication */
export function giteaHeaders(token: string): Record<string, string> {
  return { authorization: `token ${token}` };
}

export function giteaApiBase(host: URL): URL {
  return new URL(`${host.origin}${host.pathname.replace(/\/$/, '')}/api/v1`);
}

export function giteaApi(http: GitHttp, limits: Limits): HostApi {
  return {
    kind: 'gitea',
    nested: false,
    rights: (wanted, signal) =>
      giteaRights(http, wanted.repository ? repositoryAt(wanted.repository) : null, wanted, signal),

    async createRepository({ owner, name }, signal) {
      const what = 'create the repository';
      const where = (await ownerIsUs(http, owner, signal)) ? '/user/repos' : `/orgs/${encodeURIComponent(owner)}/repos`;
      const body = { name, private: true, auto_init: true };
      const answer = await http.send({ what, method: 'POST', path: where, body, expect: [201] }, signal);
      return readAs(repositoryShape, answer.body, what);
    },

    ...githubLikeCalls({
      http,
      limits,
      repositoryShape,
      keyShape,
      // Gitea's own limit is 50 unless its administrator set another; a page may be shorter than asked for.
      firstKeys: 'limit=50&page=1',
      nextKeys: nextOnGitea,
      branchShape,
    }),
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
