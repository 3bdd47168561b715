import { z } from 'zod';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextOnGitea } from '../http/pages.js';
import type { Limits } from '../limits.js';
import { giteaRights } from './gitea-rights.js';
import { githubLikeCalls, repositoryAt, createAt, repositoryFields, toRepository } from './github-like-calls.js';
import { type HostApi, commitId, shortText } from './host-api.js';

// https://docs.gitea.com/api/ (repoGet, repoListKeys, repoGetBranch); Forgejo: https://codeberg.org/api/swagger
const repositoryShape = z.object({ ...repositoryFields, internal: z.boolean().optional() }).transform((from) => {
  const closed = from.internal === true ? 'internal' : 'private';
  return toRepository(from, from.private ? closed : 'public');
});
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
    rights: (spec, signal) => giteaRights(http, spec.repository ? repositoryAt(spec.repository) : null, spec, signal),

    async createRepository(path, signal) {
      return createAt(http, path, await ownerIsUs(http, path.owner, signal), repositoryShape, signal);
    },

    ...githubLikeCalls({
      http,
      limits,
      repositoryShape,
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
