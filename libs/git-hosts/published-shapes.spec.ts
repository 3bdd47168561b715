import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FrontRequest } from './testing/front.js';
import { newPublicKey } from './testing/keys.js';
import { startFakeGithub, startFakeGitlab, type GithubUnderTest, type GitlabUnderTest } from './testing/start-fakes.js';

/** A field that the host's published schema requires in an answer, and its type there; `?` also allows null. */
type Fields = Readonly<Record<string, 'integer' | 'string' | 'string?' | 'boolean' | 'object' | 'array'>>;

interface Published {
  readonly path: string;
  readonly status: number;
  readonly fields: Fields;
}

const githubError: Fields = { message: 'string', documentation_url: 'string' };

// https://github.com/github/rest-api-description, api.github.com and ghes-3.17 (they agree): the required fields of the small
// answers, and of the large ones (a repository has 77, a user 34) those that the driver reads.
const GITHUB: Record<string, Published> = {
  'deploy-key': {
    path: '/api/v3/repos/platform/catalog/keys/KEY',
    status: 200,
    fields: {
      id: 'integer',
      key: 'string',
      url: 'string',
      title: 'string',
      verified: 'boolean',
      created_at: 'string',
      read_only: 'boolean',
    },
  },
  'branch-with-protection': {
    path: '/api/v3/repos/platform/catalog/branches/main',
    status: 200,
    fields: {
      name: 'string',
      commit: 'object',
      _links: 'object',
      protected: 'boolean',
      protection: 'object',
      protection_url: 'string',
    },
  },
  'full-repository': {
    path: '/api/v3/repos/platform/catalog',
    status: 200,
    fields: {
      id: 'integer',
      name: 'string',
      owner: 'object',
      private: 'boolean',
      default_branch: 'string',
      archived: 'boolean',
      ssh_url: 'string',
    },
  },
  'public-user': {
    path: '/api/v3/users/platform',
    status: 200,
    fields: { id: 'integer', login: 'string', type: 'string' },
  },
  'basic-error': { path: '/api/v3/repos/platform/nowhere', status: 404, fields: githubError },
};

// https://docs.gitlab.com/api/openapi/openapi_interactive/ and the answers shown on docs.gitlab.com/api.
const GITLAB: Record<string, Published> = {
  'deploy key of a project': {
    path: '/api/v4/projects/platform%2Fcatalog/deploy_keys/KEY',
    status: 200,
    fields: {
      id: 'integer',
      title: 'string',
      key: 'string',
      fingerprint: 'string',
      fingerprint_sha256: 'string',
      created_at: 'string',
      expires_at: 'string?',
      can_push: 'boolean',
    },
  },
  'personal access token': {
    path: '/api/v4/personal_access_tokens/self',
    status: 200,
    fields: {
      id: 'integer',
      name: 'string',
      revoked: 'boolean',
      created_at: 'string',
      scopes: 'array',
      user_id: 'integer',
      active: 'boolean',
      expires_at: 'string?',
    },
  },
  branch: {
    path: '/api/v4/projects/platform%2Fcatalog/repository/branches/main',
    status: 200,
    fields: { name: 'string', commit: 'object', protected: 'boolean', can_push: 'boolean' },
  },
  project: {
    path: '/api/v4/projects/platform%2Fcatalog',
    status: 200,
    fields: {
      id: 'integer',
      path: 'string',
      path_with_namespace: 'string',
      visibility: 'string',
      default_branch: 'string',
      ssh_url_to_repo: 'string',
      permissions: 'object',
    },
  },
};

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};

async function missingFrom(
  { path, status, fields }: Published,
  ask: (request: FrontRequest) => Promise<{ status: number; body?: string }>,
  headers: FrontRequest['headers'],
): Promise<string[]> {
  const answer = await ask({ method: 'GET', path, query: new URLSearchParams(), headers, body: '' });
  expect(answer.status).toBe(status);
  const body = JSON.parse(answer.body!) as Record<string, unknown>;
  return Object.entries(fields).flatMap(([name, type]) => {
    const actual = typeOf(body[name]);
    return actual === type || (type === 'string?' && ['string', 'null'].includes(actual)) ? [] : [`${name}: ${actual}`];
  });
}

describe('the stand-ins answer what the hosts have published', () => {
  let github: GithubUnderTest;
  let gitlab: GitlabUnderTest;
  beforeAll(async () => {
    [github, gitlab] = [await startFakeGithub(), await startFakeGitlab()];
  });
  afterAll(async () => {
    await github[Symbol.asyncDispose]();
    await gitlab[Symbol.asyncDispose]();
  });

  it.each(Object.keys(GITHUB))('GitHub: %s', async (name) => {
    const id = await github.addByHand({ title: 'a key', publicKey: newPublicKey(), readOnly: true });
    const published = { ...GITHUB[name]!, path: GITHUB[name]!.path.replace('KEY', id) };
    const headers = { authorization: `Bearer ${github.tokens.enough}` };
    expect(await missingFrom(published, (request) => github.fake.handle(request, github.front.url), headers)).toEqual(
      [],
    );
  });

  it.each(Object.keys(GITLAB))('GitLab: %s', async (name) => {
    const id = await gitlab.addByHand({ title: 'a key', publicKey: newPublicKey(), readOnly: true });
    const published = { ...GITLAB[name]!, path: GITLAB[name]!.path.replace('KEY', id) };
    const headers = { 'private-token': gitlab.tokens.enough };
    expect(await missingFrom(published, (request) => gitlab.fake.handle(request, gitlab.front.url), headers)).toEqual(
      [],
    );
  });
});
