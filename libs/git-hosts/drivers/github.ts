import { z } from 'zod';
import type { Repository } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextByLink } from '../http/next-page.js';
import { readPages } from '../http/pages.js';
import type { Limits } from '../limits.js';
import type { RepositoryPath } from '../repository-path.js';
import { githubRights } from './github-rights.js';
import type { HostApi, HostKey } from './host-api.js';
import { keyCalls } from './key-calls.js';
import { branchName, commitId, hostId, keyText, keyTitle, shortText, sshUrl } from './shapes.js';

// https://docs.github.com/en/rest/repos/repos#get-a-repository
const repositoryShape = z.object({
  id: hostId,
  name: shortText,
  owner: z.object({ login: shortText }),
  private: z.boolean(),
  visibility: z.enum(['public', 'private', 'internal']).optional(),
  default_branch: branchName,
  archived: z.boolean(),
  ssh_url: sshUrl,
});

// https://docs.github.com/en/rest/deploy-keys/deploy-keys
const keyShape = z.object({
  id: hostId,
  title: keyTitle,
  key: keyText,
  read_only: z.boolean(),
  enabled: z.boolean().optional(),
});
const keysShape = z.array(keyShape).max(100);
// https://docs.github.com/en/rest/branches/branches#get-a-branch
const branchShape = z.object({ name: shortText, commit: z.object({ sha: commitId }) });
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
  const at = ({ owner, name }: RepositoryPath): string =>
    `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  return {
    kind: 'github',
    nested: false,
    rights: (wanted, signal) => githubRights(http, wanted.repository ? at(wanted.repository) : null, wanted, signal),

    async repository(path, signal) {
      const what = 'find the repository';
      const answer = await http.send({ what, path: at(path), expect: [200, 404] }, signal);
      return answer.status === 404 ? null : toRepository(readAs(repositoryShape, answer.body, what));
    },

    async createRepository(path, signal) {
      const what = 'create the repository';
      const isUser = await ownerIsUser(http, path.owner, signal);
      const body = { name: path.name, private: true, auto_init: true };
      const where = isUser ? '/user/repos' : `/orgs/${encodeURIComponent(path.owner)}/repos`;
      const answer = await http.send({ what, method: 'POST', path: where, body, expect: [201] }, signal);
      return toRepository(readAs(repositoryShape, answer.body, what));
    },

    async keys(path, signal) {
      const ask = { what: 'list the deploy keys', path: `${at(path)}/keys`, query: 'per_page=100', expect: [200] };
      return (await readPages(http, { ask, entry: keysShape, next: nextByLink, limits }, signal)).map(toKey);
    },

    ...keyCalls({ http, at, keyShape, toKey }),

    async branch(path, branch, signal) {
      const what = 'look up the branch';
      const where = `${at(path)}/branches/${encodeURIComponent(branch)}`;
      const answer = await http.send({ what, path: where, expect: [200, 404] }, signal);
      if (answer.status === 404) return null;
      const { name, commit } = readAs(branchShape, answer.body, what);
      // A renamed branch is answered by a redirect to its new name, which is not the branch that was asked for.
      return name === branch ? commit.sha : null;
    },
  };
}

/** Users and organisations have repositories made in different places. */
async function ownerIsUser(http: GitHttp, owner: string, signal: AbortSignal): Promise<boolean> {
  const what = 'find the owner of the repository';
  const answer = await http.send({ what, path: `/users/${encodeURIComponent(owner)}`, expect: [200] }, signal);
  return readAs(ownerShape, answer.body, what).type === 'User';
}

function toKey({ id, title, key, read_only: readOnly, enabled }: z.infer<typeof keyShape>): HostKey {
  return { id: String(id), title, key, readOnly, enabled: enabled ?? true };
}

function toRepository(from: z.infer<typeof repositoryShape>): Repository {
  return {
    path: { owner: from.owner.login, name: from.name },
    id: String(from.id),
    sshUrl: from.ssh_url,
    defaultBranch: from.default_branch || null,
    visibility: from.visibility ?? (from.private ? 'private' : 'public'),
    archived: from.archived,
  };
}
