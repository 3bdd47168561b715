import { parseSshPublicKey } from '../ssh-public-key.js';
import type { FrontAnswer, FrontRequest } from './front.js';
import { HEAD, bareKey, json, pageOf, routed, type Route } from './fake-answers.js';

interface GitlabToken {
  readonly username: string;
  readonly scopes: readonly string[];
  /** A project's or group's token acts as a bot. */
  readonly bot: boolean;
  readonly isAdmin?: boolean;
  /** In all projects; 40 is Maintainer, 50 Owner. */
  readonly level: number;
  readonly expiresAt?: string;
  /** Its answer is then 401 with `invalid_token`. */
  readonly expired?: true;
}

/** A deploy key is the instance's, and enabled in projects. */
interface Key {
  readonly id: number;
  readonly title: string;
  readonly key: string;
  /** False: in a project that none of our tokens reaches. */
  readonly accessible: boolean;
}

interface Project {
  readonly id: number;
  readonly path: string;
  keys: { readonly key: Key; readonly canPush: boolean }[];
}

const BASE = '/api/v4';
const notFound = json(404, { message: '404 Project Not Found' });

/**
 * GitLab's API as far as the driver uses it. Shapes are ours, after what is documented: https://docs.gitlab.com/api/deploy_keys/,
 * …/api/projects/, …/api/branches/, …/api/namespaces/, …/api/users/, …/api/personal_access_tokens/, …/api/rest/#pagination and
 * …/api/rest/troubleshooting/. A key that is known from another project is enabled as it is there, with the title it has there, if
 * the token reaches that project; else its fingerprint is taken. Keys come back with a comment of GitLab's own.
 */
export class FakeGitlab {
  readonly tokens = new Map<string, GitlabToken>();
  readonly projects: Project[] = [];
  readonly keys: Key[] = [];
  #nextId = 4_200;

  addProject(path: string): Project {
    const project: Project = { id: this.#nextId++, path, keys: [] };
    this.projects.push(project);
    return project;
  }

  /** Of the instance; without a project that has it, it is one of a project that is out of sight. */
  addKey(title: string, key: string, accessible: boolean): Key {
    const made = { id: this.#nextId++, title, key, accessible };
    this.keys.push(made);
    return made;
  }

  handle = async (request: FrontRequest, url: string): Promise<FrontAnswer> => {
    const token = this.tokens.get(String(request.headers['private-token']));
    if (!token) return json(401, { message: '401 Unauthorized' });
    if (token.expired)
      return json(401, {
        error: 'invalid_token',
        error_description: 'Token is expired. You can either do re-authorization or token refresh.',
      });
    return routed(this.#routes(token, url), BASE, request, json(404, { error: '404 Not Found' }));
  };

  #routes(token: GitlabToken, url: string): Route[] {
    const project = '^/projects/([^/]+)';
    const within =
      (level: number, work: (project: Project, request: FrontRequest, rest: string) => FrontAnswer) =>
      (request: FrontRequest, path: string, rest = ''): FrontAnswer => {
        const scope = request.method === 'GET' ? ['api', 'read_api'] : ['api'];
        if (!scope.some((one) => token.scopes.includes(one))) return insufficientScope(scope);
        const found = this.projects.find((one) => one.path === path);
        if (!found) return notFound;
        return token.level < level ? json(403, { message: '403 Forbidden' }) : work(found, request, rest);
      };
    return [
      { method: 'GET', path: /^\/personal_access_tokens\/self$/u, handle: () => json(200, toToken(token)) },
      { method: 'GET', path: /^\/user$/u, handle: () => json(200, toUser(token)) },
      {
        method: 'GET',
        path: /^\/namespaces\/([^/]+)$/u,
        handle: (_, path) => json(200, { id: 77, kind: 'group', full_path: path, path, name: path }),
      },
      { method: 'POST', path: /^\/projects$/u, handle: (request) => this.#create(token, request) },
      {
        method: 'GET',
        path: new RegExp(`${project}$`, 'u'),
        handle: within(10, (found) => json(200, toProject(found, token))),
      },
      {
        method: 'GET',
        path: new RegExp(`${project}/deploy_keys$`, 'u'),
        handle: within(40, (found, { query }) => keysPage(found, query, url)),
      },
      {
        method: 'POST',
        path: new RegExp(`${project}/deploy_keys$`, 'u'),
        handle: within(40, (found, request) => this.#createKey(found, request)),
      },
      {
        method: 'GET',
        path: new RegExp(`${project}/deploy_keys/(\\d+)$`, 'u'),
        handle: within(40, (found, _, id) => {
          const enabled = found.keys.find(({ key }) => String(key.id) === id);
          return enabled ? json(200, toKey(enabled)) : json(404, { message: '404 Not found' });
        }),
      },
      {
        method: 'DELETE',
        path: new RegExp(`${project}/deploy_keys/(\\d+)$`, 'u'),
        handle: within(40, (found, _, id) => this.#disable(found, id)),
      },
      {
        method: 'GET',
        path: new RegExp(`${project}/repository/branches/([^/]+)$`, 'u'),
        handle: within(10, (_, __, branch) =>
          ['main', 'release/1'].includes(branch)
            ? json(200, {
                name: branch,
                commit: { id: HEAD, short_id: HEAD.slice(0, 8) },
                protected: true,
                can_push: false,
              })
            : json(404, { message: '404 Branch Not Found' }),
        ),
      },
    ];
  }

  #create(token: GitlabToken, request: FrontRequest): FrontAnswer {
    if (!token.scopes.includes('api')) return insufficientScope(['api']);
    const { path, visibility } = JSON.parse(request.body) as { path: string; visibility: string };
    const full = `platform/${path}`;
    if (this.projects.some((one) => one.path === full))
      return json(400, { message: { path: ['has already been taken'], name: ['has already been taken'] } });
    return json(201, { ...toProject(this.addProject(full), token), visibility });
  }

  #createKey(project: Project, request: FrontRequest): FrontAnswer {
    const { title = '', key, can_push: canPush = false } = JSON.parse(request.body) as Record<string, unknown>;
    const bare = bareKey(key);
    if (bare === null) return json(400, { message: { 'deploy_key.key': ['is invalid'] } });
    const enabled = project.keys.find((one) => one.key.key === bare);
    if (enabled) return json(201, toKey(enabled));
    const known = this.keys.find((one) => one.key === bare);
    if (known?.accessible === false)
      return json(400, { message: { 'deploy_key.fingerprint_sha256': ['has already been taken'] } });
    const made = { key: known ?? this.addKey(String(title), bare, true), canPush: canPush === true };
    project.keys.push(made);
    return json(201, toKey(made));
  }

  #disable(project: Project, id: string): FrontAnswer {
    const enabled = project.keys.find(({ key }) => String(key.id) === id);
    if (!enabled) return json(404, { message: '404 Deploy Key Not Found' });
    project.keys = project.keys.filter((one) => one !== enabled);
    // Enabled nowhere, it is deleted.
    const elsewhere = this.projects.some(({ keys }) => keys.some(({ key }) => key === enabled.key));
    if (!elsewhere) this.keys.splice(this.keys.indexOf(enabled.key), 1);
    return { status: 204 };
  }
}

const insufficientScope = (scopes: readonly string[]): FrontAnswer =>
  json(403, {
    error: 'insufficient_scope',
    error_description: 'The request requires higher privileges than provided by the access token.',
    scope: scopes.join(' '),
  });

function keysPage(project: Project, query: URLSearchParams, url: string): FrontAnswer {
  const { page, size, part, more } = pageOf(project.keys, query);
  const next = `${url}${BASE}/projects/${project.id}/deploy_keys?page=${page + 1}&per_page=${size}`;
  return json(200, part.map(toKey), {
    'x-page': String(page),
    'x-per-page': String(size),
    'x-next-page': more ? String(page + 1) : '',
    ...(more ? { link: `<${next}>; rel="next"` } : {}),
  });
}

const toKey = ({ key, canPush }: Project['keys'][number]): object => ({
  id: key.id,
  title: key.title,
  key: `${key.key} Administrator (gitlab.example.com)`,
  fingerprint: '4a:9d:64:15:ed:3a:e6:07:6e:89:36:b3:3b:03:05:d9',
  fingerprint_sha256: parseSshPublicKey(key.key)?.fingerprint,
  created_at: '2026-01-10T12:44:31.550Z',
  expires_at: null,
  can_push: canPush,
});

const toToken = ({ scopes, expiresAt, username }: GitlabToken): object => ({
  id: 4,
  name: username,
  revoked: false,
  created_at: '2026-01-10T12:44:31.550Z',
  scopes,
  user_id: 24,
  last_used_at: null,
  active: true,
  expires_at: expiresAt ?? null,
});

const toUser = ({ username, bot, isAdmin }: GitlabToken): object => ({
  id: 24,
  username,
  name: username,
  state: 'active',
  bot,
  ...(isAdmin === undefined ? {} : { is_admin: isAdmin }),
});

function toProject({ id, path }: Project, { level }: GitlabToken): object {
  return {
    id,
    name: path.split('/').at(-1),
    path: path.split('/').at(-1),
    path_with_namespace: path,
    visibility: 'private',
    default_branch: 'main',
    archived: false,
    ssh_url_to_repo: `git@gitlab.example.com:${path}.git`,
    permissions: { project_access: { access_level: level, notification_level: 3 }, group_access: null },
  };
}
