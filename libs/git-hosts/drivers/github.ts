import { z } from 'zod';
import type { Repository } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextByLink } from '../http/pages.js';
import type { Limits } from '../limits.js';
import { githubRights } from './github-rights.js';
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

// https://docs.github.com/en/rest/repos/repos#get-a-repository
const repositoryShape = z
  .object({
    id: hostId,
    name: shortText,
    owner: z.object({ login: shortText }),
    private: z.boolean(),
    visibility: z.enum(['public', 'private', 'internal']).optional(),
    default_branch: branchName,
    archived: z.boolean(),
    ssh_url: sshUrl,
  })
  .transform((from): Repository => ({
    path: { owner: from.owner.login, name: from.name },
    id: String(from.id),
    sshUrl: from.ssh_url,
    defaultBranch: from.default_branch || null,
    visibility: from.visibility ?? (from.private ? 'private' : 'public'),
    archived: from.archived,
  }));

// https://docs.github.com/en/rest/deploy-keys/deploy-keys
const keyShape = z
  .object({
    id: hostId,
    title: keyTitle,
    key: keyText,
    read_only: z.boolean(),
    enabled: z.boolean().optional(),
  })
  .transform(({ id, title, key, read_only: readOnly, enabled }): HostKey => ({
    id: String(id),
    title,
    key,
    readOnly,
    enabled: enabled ?? true,
  }));
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
    rights: (wanted, signal) =>
      githubRights(http, wanted.repository ? repositoryAt(wanted.repository) : null, wanted, signal),

    async createRepository(path, signal) {
      const what = 'create the repository';
      const isUser = await ownerIsUser(http, path.owner, signal);
      const body = { name: path.name, private: true, auto_init: true };
      const where = isUser ? '/user/repos' : `/orgs/${encodeURIComponent(path.owner)}/repos`;
      const answer = await http.send({ what, method: 'POST', path: where, body, expect: [201] }, signal);
      return readAs(repositoryShape, answer.body, what);
    },

    ...githubLikeCalls({
      http,
      limits,
      repositoryShape,
      keyShape,
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
