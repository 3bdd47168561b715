import type { FrontAnswer, FrontRequest } from './front.js';
import { HEAD, bareKey, json, pageOf, routed, type Route } from './fake-answers.js';

type GithubToken =
  | { readonly login: string; readonly scopes: string }
  /** Fine-grained: `administration=write` and the like. */
  | { readonly login: string; readonly permissions: readonly string[]; readonly expires?: string };

interface Key {
  readonly id: number;
  readonly title: string;
  readonly key: string;
  readonly read_only: boolean;
}

interface Repo {
  readonly id: number;
  readonly owner: string;
  name: string;
  keys: Key[];
}

const BASE = '/api/v3';
const notFound = json(404, { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' });
const noContent: FrontAnswer = { status: 204 };

/**
 * GitHub's API as far as the driver uses it, on a path as GitHub Enterprise Server has it. Shapes are ours, after what is
 * documented: https://docs.github.com/en/rest/deploy-keys/deploy-keys, …/rest/repos/repos, …/rest/branches/branches,
 * …/rest/users/users, …/rest/using-the-rest-api/troubleshooting-the-rest-api and
 * …/rest/using-the-rest-api/using-pagination-in-the-rest-api, and https://github.com/github/rest-api-description. Links of pages go
 * by the repository's number, a key is in use once on the whole host, and what one may not see is not found, as on GitHub.
 */
export class FakeGithub {
  readonly tokens = new Map<string, GithubToken>();
  readonly repos: Repo[] = [];
  /** Old names, which answer with a redirect. */
  readonly renamed = new Map<string, Repo>();
  #nextId = 1_296_269;

  addRepo(owner: string, name: string): Repo {
    const repo: Repo = { id: this.#nextId++, owner, name, keys: [] };
    this.repos.push(repo);
    return repo;
  }

  addKey(repo: Repo, title: string, key: string, readOnly: boolean): Key {
    const made = { id: this.#nextId++, title, key, read_only: readOnly };
    repo.keys.push(made);
    return made;
  }

  handle = async (request: FrontRequest, url: string): Promise<FrontAnswer> => {
    const token = this.tokens.get(request.headers.authorization?.replace(/^Bearer /u, '') ?? '');
    if (!token)
      return json(401, {
        message: 'Bad credentials',
        documentation_url: 'https://docs.github.com/rest',
        status: '401',
      });
    const answer = routed(this.#routes(token, url), BASE, request, notFound);
    return { ...answer, headers: { ...answer.headers, ...tokenHeaders(token) } };
  };

  #routes(token: GithubToken, url: string): Route[] {
    const repo = '^/repos/([^/]+)/([^/]+)';
    const find = (owner: string, name: string): Repo | undefined =>
      this.repos.find((one) => one.owner === owner && one.name === name);
    /** With the repository and the right, else what GitHub says instead. */
    const within =
      (right: string, work: (repo: Repo, request: FrontRequest, rest: string) => FrontAnswer) =>
      (request: FrontRequest, owner: string, name: string, rest = ''): FrontAnswer => {
        const found = find(owner, name);
        if (!found) return moved(this.renamed.get(`${owner}/${name}`), url);
        return allowed(token, right) ? work(found, request, rest) : forbidden(right);
      };
    const needless = (path: string, right: string): Route => ({
      method: 'GET',
      path: new RegExp(`${repo}${path}$`, 'u'),
      handle: within(right, () => json(200, {})),
    });
    return [
      { method: 'GET', path: /^\/user$/u, handle: () => json(200, { login: token.login, id: 1, type: 'User' }) },
      { method: 'GET', path: /^\/users\/([^/]+)$/u, handle: (_, login) => this.#owner(token, login) },
      { method: 'POST', path: /^\/user\/repos$/u, handle: (request) => this.#create(token, token.login, request, url) },
      {
        method: 'POST',
        path: /^\/orgs\/([^/]+)\/repos$/u,
        handle: (request, org) => this.#create(token, org, request, url),
      },
      {
        method: 'GET',
        path: new RegExp(`${repo}$`, 'u'),
        handle: within('metadata=read', (found) => json(200, toRepo(found))),
      },
      {
        method: 'GET',
        path: /^\/repositories\/(\d+)$/u,
        handle: (_, id) => {
          const found = this.repos.find((one) => String(one.id) === id);
          return found ? json(200, toRepo(found)) : notFound;
        },
      },
      {
        method: 'GET',
        path: new RegExp(`${repo}/keys$`, 'u'),
        handle: within('administration=read', (found, { query }) => keysPage(found, query, url)),
      },
      {
        method: 'POST',
        path: new RegExp(`${repo}/keys$`, 'u'),
        handle: within('administration=write', (found, request) => this.#createKey(found, request)),
      },
      {
        method: 'GET',
        path: new RegExp(`${repo}/keys/(\\d+)$`, 'u'),
        handle: within('administration=read', (found, _, id) => {
          const key = found.keys.find((one) => String(one.id) === id);
          return key ? json(200, toKey(key)) : notFound;
        }),
      },
      {
        method: 'DELETE',
        path: new RegExp(`${repo}/keys/(\\d+)$`, 'u'),
        handle: within('administration=write', (found, _, id) => {
          const before = found.keys.length;
          found.keys = found.keys.filter((one) => String(one.id) !== id);
          return found.keys.length < before ? noContent : notFound;
        }),
      },
      {
        method: 'GET',
        path: new RegExp(`${repo}/branches(?:/([^/]+))?$`, 'u'),
        handle: within('contents=read', (_, __, branch) => branchAnswer(branch)),
      },
      needless('/hooks', 'webhooks=read'),
      needless('/actions/secrets', 'secrets=read'),
      needless('/actions/variables', 'variables=read'),
    ];
  }

  #owner(token: GithubToken, login: string): FrontAnswer {
    return json(200, { login, id: 2, type: login === token.login ? 'User' : 'Organization' });
  }

  #create(token: GithubToken, owner: string, request: FrontRequest, url: string): FrontAnswer {
    if (!allowed(token, 'administration=write')) return forbidden('administration=write');
    const { name, private: isPrivate } = JSON.parse(request.body) as { name: string; private: boolean };
    if (this.repos.some((one) => one.owner === owner && one.name === name))
      return invalid('Repository', 'name', 'name already exists on this account');
    return json(201, { ...toRepo(this.addRepo(owner, name)), private: isPrivate }, { location: url });
  }

  #createKey(repo: Repo, request: FrontRequest): FrontAnswer {
    const { title, key, read_only: readOnly = false } = JSON.parse(request.body) as Partial<Key>;
    const bare = bareKey(key);
    if (bare === null)
      return invalid('PublicKey', 'key', 'key is invalid. You must supply a key in OpenSSH public key format');
    if (this.repos.some(({ keys }) => keys.some((one) => one.key === bare)))
      return invalid('PublicKey', 'key', 'key is already in use');
    return json(201, toKey(this.addKey(repo, title!, bare, readOnly)));
  }
}

function tokenHeaders(token: GithubToken): Record<string, string> {
  if ('scopes' in token) return { 'x-oauth-scopes': token.scopes };
  return token.expires === undefined ? {} : { 'github-authentication-token-expiration': token.expires };
}

function allowed(token: GithubToken, right: string): boolean {
  if ('scopes' in token) return token.scopes.split(', ').includes('repo');
  const [name, level] = right.split('=') as [string, string];
  return name === 'metadata' || [right, `${name}=write`].some((one) => level !== '' && token.permissions.includes(one));
}

const forbidden = (right: string): FrontAnswer =>
  json(
    403,
    {
      message: 'Resource not accessible by personal access token',
      documentation_url: 'https://docs.github.com/rest',
      status: '403',
    },
    { 'x-accepted-github-permissions': right },
  );

const invalid = (resource: string, field: string, message: string): FrontAnswer =>
  json(422, {
    message: 'Validation Failed',
    errors: [{ resource, code: 'custom', field, message }],
    documentation_url: 'https://docs.github.com/rest',
    status: '422',
  });

function moved(repo: Repo | undefined, url: string): FrontAnswer {
  if (!repo) return notFound;
  const location = `${url}${BASE}/repositories/${repo.id}`;
  return json(301, { message: 'Moved Permanently', url: location }, { location });
}

function keysPage(repo: Repo, query: URLSearchParams, url: string): FrontAnswer {
  const { page, size, part, more } = pageOf(repo.keys, query);
  const at = (number: number) => `<${url}${BASE}/repositories/${repo.id}/keys?per_page=${size}&page=${number}>`;
  const links = [
    ...(page > 1 ? [`${at(page - 1)}; rel="prev"`] : []),
    ...(more ? [`${at(page + 1)}; rel="next"`] : []),
  ];
  return json(200, part.map(toKey), links.length > 0 ? { link: links.join(', ') } : {});
}

function branchAnswer(branch: string): FrontAnswer {
  if (branch === '') return json(200, [{ name: 'main', commit: { sha: HEAD }, protected: false }]);
  if (branch !== 'main' && branch !== 'release/1') return json(404, { message: 'Branch not found', status: '404' });
  return json(200, {
    name: branch,
    commit: { sha: HEAD, node_id: 'MDY6', url: 'https://api.github.com/repos/octocat/Hello-World/commits/main' },
    _links: { html: 'https://github.com/octocat/Hello-World/tree/main', self: 'https://api.github.com/' },
    protected: false,
    protection: { enabled: false },
    protection_url: 'https://api.github.com/repos/octocat/Hello-World/branches/main/protection',
  });
}

const toKey = (key: Key): object => ({
  ...key,
  url: `https://api.github.com/repos/octocat/Hello-World/keys/${key.id}`,
  verified: true,
  created_at: '2026-01-10T15:53:42Z',
  added_by: 'octocat',
  last_used: null,
  enabled: true,
});

const toRepo = ({ id, owner, name }: Repo): object => ({
  id,
  node_id: 'MDEwOlJlcG9zaXRvcnkxMjk2MjY5',
  name,
  full_name: `${owner}/${name}`,
  owner: { login: owner, id: 1, type: 'Organization' },
  private: true,
  visibility: 'private',
  html_url: `https://github.com/${owner}/${name}`,
  ssh_url: `git@github.com:${owner}/${name}.git`,
  default_branch: 'main',
  archived: false,
  disabled: false,
  permissions: { admin: true, push: true, pull: true },
});
