import { z } from 'zod';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextByLink } from '../http/pages.js';
import type { Limits } from '../limits.js';
import { githubRights } from './github-rights.js';
import { githubLikeCalls, repositoryAt, createAt, repositoryFields, toRepository } from './github-like-calls.js';
import { type HostApi, commitId, shortText } from './host-api.js';

// https://docs.github.com/en/rest/repos/repos#get-a-repository
const repositoryShape = z
  .object({ ...repositoryFields, visibility: z.enum(['public', 'private', 'internal']).optional() })
  .transform((from) => toRepository(from, from.visibility ?? (from.private ? 'private' : 'public')));

// https://docs.github.com/en/rest/branches/branches#get-a-branch
const branchShape = z
  .object({ name: shortText, commit: z.object({ sha: commitId }) })
  .transform(({ name, commit }) => ({ name, commit: commit.sha }));
// https://docs.github.com/en/rest/users/users#get-a-user
const ownerShape = z.object({ login: shortText, type: z.string().max(50) });

/** The headers that GitHub's API wants; https://docs.github.com/en/rest/about-the-rest-api/api-versions */
export function githubHeaders(token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  };
}

/** The API of github.com, of a tenant on ghe.com, or of a GitHub Enterprise Server. */
export function githubApiBase(host: URL): URL {
  const { hostname, port } = host;
  if (hostname === 'github.com' || hostname === 'www.github.com') return new URL('https://api.github.com');
  if (/^[\w-]+\.ghe\.com$/.test(hostname)) return new URL(`https://api.${hostname}${port ? `:${port}` : ''}`);
  return new URL(`${host.origin}${host.pathname.replace(/\/$/, '')}/api/v3`);
}

export function githubApi(http: GitHttp, limits: Limits): HostApi {
  return {
    kind: 'github',
    nested: false,
    rights: (spec, signal) => githubRights(http, spec.repository ? repositoryAt(spec.repository) : null, spec, signal),

    async createRepository(path, signal) {
      return createAt(http, path, await ownerIsUser(http, path.owner, signal), repositoryShape, signal);
    },

    ...githubLikeCalls({
      http,
      limits,
      repositoryShape,
      firstKeys: 'per_page=100',
      nextKeys: nextByLink,
      branchShape,
    }),
  };
}

/** Users and organisations have repositories made in different places. */
async function ownerIsUser(http: GitHttp, owner: string, signal: AbortSignal): Promise<boolean> {
  const what = 'find the owner of the repository';
  const answer = await http.send({ what, path: `/users/${encodeURIComponent(owner)}`, expect: [200] }, signal);
  return readAs(ownerShape, answer.body, what).type === 'User';
}
