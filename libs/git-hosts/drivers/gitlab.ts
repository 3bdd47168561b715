import { z } from 'zod';
import type { Repository } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { nextOnGitLab, readPages } from '../http/pages.js';
import type { Limits } from '../limits.js';
import { repositoryText, type RepositoryPath } from '../repository-path.js';
import { gitlabRights } from './gitlab-rights.js';
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

// https://docs.gitlab.com/api/projects/#get-a-single-project
const projectShape = z.object({
  id: hostId,
  path: shortText,
  path_with_namespace: z.string().max(1_000),
  visibility: z.enum(['public', 'private', 'internal']),
  default_branch: branchName,
  archived: z.boolean().optional(),
  ssh_url_to_repo: sshUrl,
});

// https://docs.gitlab.com/api/deploy_keys/
const keyShape = z.object({
  id: hostId,
  title: keyTitle,
  key: keyText,
  can_push: z.boolean(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
});
const keysShape = z.array(keyShape).max(100);
// https://docs.gitlab.com/api/branches/#get-single-repository-branch
const branchShape = z.object({ name: shortText, commit: z.object({ id: commitId }) });
// https://docs.gitlab.com/api/namespaces/#get-details-on-a-namespace
const namespaceShape = z.object({ id: hostId });

/** https://docs.gitlab.com/api/rest/authentication/: for personal, project and group access tokens. */
export function gitlabHeaders(token: string): Record<string, string> {
  return { 'private-token': token };
}

export function gitlabApiBase(host: URL): URL {
  return new URL(`${host.origin}${host.pathname.replace(/\/$/, '')}/api/v4`);
}

export function gitlabApi(http: GitHttp, limits: Limits): HostApi {
  const at = (path: RepositoryPath): string => `/projects/${encodeURIComponent(repositoryText(path))}`;
  const keysOf = (path: RepositoryPath): string => `${at(path)}/deploy_keys`;
  return {
    kind: 'gitlab',
    nested: true,
    rights: (spec, signal) => gitlabRights(http, spec.repository ? at(spec.repository) : null, spec, signal),

    async repository(path, signal) {
      const what = 'find the repository';
      const answer = await http.send({ what, path: at(path), expect: [200, 404] }, signal);
      return answer.status === 404 ? null : toRepository(readAs(projectShape, answer.body, what));
    },

    async createRepository({ owner, name }, signal) {
      const what = 'create the repository';
      const where = `/namespaces/${encodeURIComponent(owner)}`;
      const namespace = await http.send({ what, path: where, expect: [200] }, signal);
      const { id } = readAs(namespaceShape, namespace.body, what);
      const body = { name, path: name, namespace_id: id, visibility: 'private', initialize_with_readme: true };
      const answer = await http.send({ what, method: 'POST', path: '/projects', body, expect: [201] }, signal);
      return toRepository(readAs(projectShape, answer.body, what));
    },

    async keys(path, signal) {
      const ask = { what: 'list the deploy keys', path: keysOf(path), query: 'per_page=100', expect: [200] };
      return (await readPages(http, { ask, entry: keysShape, next: nextOnGitLab, limits }, signal)).map((key) =>
        toKey(key, http.nowMs()),
      );
    },

    async key(path, id, signal) {
      const what = 'find the deploy key';
      const answer = await http.send({ what, path: `${keysOf(path)}/${id}`, expect: [200, 404] }, signal);
      return answer.status === 404 ? null : toKey(readAs(keyShape, answer.body, what), http.nowMs());
    },

    async createKey(path, { title, key }, signal) {
      const what = 'add a deploy key';
      const body = { title, key, can_push: false };
      const answer = await http.send({ what, method: 'POST', path: keysOf(path), body, expect: [200, 201] }, signal);
      return toKey(readAs(keyShape, answer.body, what), http.nowMs());
    },

    async deleteKey(path, id, signal) {
      const what = 'remove a deploy key';
      const expect = [200, 204, 404];
      const answer = await http.send({ what, method: 'DELETE', path: `${keysOf(path)}/${id}`, expect }, signal);
      return answer.status !== 404;
    },

    async branch(path, branch, signal) {
      const what = 'look up the branch';
      const where = `${at(path)}/repository/branches/${encodeURIComponent(branch)}`;
      const answer = await http.send({ what, path: where, expect: [200, 404] }, signal);
      if (answer.status === 404) return null;
      const { name, commit } = readAs(branchShape, answer.body, what);
      return name === branch ? commit.id : null;
    },
  };
}

function toKey(from: z.infer<typeof keyShape>, nowMs: number): HostKey {
  const { id, title, key, can_push: canPush, expires_at: expiresAt } = from;
  const enabled = expiresAt == null || Date.parse(expiresAt) > nowMs;
  return { id: String(id), title, key, readOnly: !canPush, enabled };
}

function toRepository(from: z.infer<typeof projectShape>): Repository {
  const slash = from.path_with_namespace.lastIndexOf('/');
  return {
    path: { owner: from.path_with_namespace.slice(0, Math.max(0, slash)), name: from.path },
    id: String(from.id),
    sshUrl: from.ssh_url_to_repo,
    defaultBranch: from.default_branch || null,
    visibility: from.visibility,
    archived: from.archived ?? false,
  };
}
