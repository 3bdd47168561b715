import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkedClient, problemOf, type Answer, type CheckedClient } from './testing/checked-client.js';
import { startScriptedApi, type ScriptedApi } from './testing/scripted-api.js';
import { grantTo, userOf } from './testing/somebody.js';

/** All that somebody may ask who is logged in and nothing else. What is not here is for administrators. */
const FOR_USERS = [
  'clusterAccess',
  'createCredential',
  'endCurrentLogin',
  'explainAccess',
  'getCluster',
  'listClusters',
  'listMyAccessRequests',
  'listMyGrants',
  'listSessions',
  'requestAccess',
  'whoami',
];
/** All that an auditor may ask besides. */
const FOR_AUDITORS = [
  'exportAudit',
  'feedAudit',
  'getAuditEntry',
  'getAuditLog',
  'getAuditTile',
  'listAuditEvidence',
  'listAuditProducers',
  'listAuditWitnesses',
  'searchAudit',
  'tailAudit',
];
const USER = 'a-token-of-a-user-of-some-length';
const AUDITOR = 'a-token-of-an-auditor-of-some-length';

let api: ScriptedApi;
let client: CheckedClient;

beforeAll(async () => {
  api = await startScriptedApi();
  api.script.users.set(USER, userOf('corp:alice', { subjectGroups: ['corp:developers'] }));
  api.script.users.set(AUDITOR, userOf('corp:dana', { auditor: true }));
  client = await checkedClient(api);
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const asUser = (method: string, path: string, body?: unknown): Promise<Answer> =>
  client.ask(method, path, { token: USER, ...(body === undefined ? {} : { body }) });

const asAdministrator = (method: string, path: string, body?: unknown): Promise<Answer> =>
  client.ask(method, path, body === undefined ? {} : { body });

/** Every operation that the API describes, with who may ask for it by `security`. */
function described(): { method: string; path: string; id: string; mayAsk: string }[] {
  return Object.entries(client.document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { operationId: id, security }]) => {
      const [scheme] = (security ?? client.document.security) as { bearer: string[] }[];
      const path = template.replaceAll(/\{\w+\}/g, crypto.randomUUID());
      return { method: method.toUpperCase(), path, id, mayAsk: scheme?.bearer[0] ?? 'public' };
    }),
  );
}

it('lets a user ask for nothing but what is listed here, whatever the operation', async () => {
  const operations = described();
  expect(operations.length).toBeGreaterThan(80);
  const allowed = operations.filter(({ mayAsk }) => mayAsk === 'user').map(({ id }) => id);
  expect(allowed.sort()).toEqual(FOR_USERS);
  const [refused, unauthenticated]: string[][] = [[], []];
  const withToken = operations.filter(({ mayAsk }) => mayAsk !== 'public');
  for (const { method, path, id } of withToken) {
    const [user, nobody] = [await asUser(method, path), await client.ask(method, path, { token: null })];
    if (user.status === 403 && problemOf(user).code === 'FORBIDDEN') refused?.push(id);
    if (nobody.status === 401) unauthenticated?.push(id);
  }
  const ids = withToken.map(({ id }) => id);
  expect(unauthenticated).toEqual(ids);
  expect(refused).toEqual(ids.filter((id) => !FOR_USERS.includes(id)));
});

it('lets an auditor read the audit log besides, and nothing else', async () => {
  const operations = described();
  const allowed = operations.filter(({ mayAsk }) => mayAsk === 'auditor').map(({ id }) => id);
  expect(allowed.sort()).toEqual(FOR_AUDITORS);
  for (const { method, path, id, mayAsk } of operations.filter((each) => each.mayAsk !== 'public')) {
    // Whoever is refused for their query was let in; and a tail has no end.
    const query = ['tailAudit', 'exportAudit'].includes(id) ? '?status=none' : '';
    const { status } = await client.ask(method, `${path}${query}`, { token: AUDITOR });
    const isRefused = mayAsk === 'administrator' || mayAsk === 'installation';
    expect([id, status === 403]).toEqual([id, isRefused]);
  }
});

it('tells a user how to become more', async () => {
  expect(problemOf(await asUser('DELETE', '/v1/clusters/prod'))).toMatchObject({
    detail: 'DELETE /v1/clusters/{name} is for administrators, and corp:alice is none',
    next: expect.stringContaining('fairlead grant create --user corp:alice --role administrator') as string,
  });
  expect(problemOf(await asUser('GET', '/v1/audit/entries'))).toMatchObject({
    detail: 'GET /v1/audit/entries is for auditors and administrators, and corp:alice is none',
    next: expect.stringContaining('fairlead grant create --user corp:alice --role auditor') as string,
  });
});

it('shows a user the clusters that a grant of theirs means, page by page, and not the name of another', async () => {
  const { script } = api;
  const stages = {
    'a-hidden': 'prod',
    'b-shop': 'staging',
    'c-hidden': 'prod',
    'd-shop': 'staging',
    'e-named': 'prod',
  };
  for (const [name, env] of Object.entries(stages)) {
    await client.ask('POST', '/v1/clusters', { body: { name, labels: { env } } });
  }
  expect((await asUser('GET', '/v1/clusters')).json).toEqual({ clusters: [] });
  const [byGroup] = [
    grantTo(script, { kind: 'group', name: 'corp:developers' }, { clusters: { selector: 'env=staging' } }),
    grantTo(script, { kind: 'user', name: 'corp:alice' }, { clusters: { names: ['e-named'] } }),
    grantTo(script, { kind: 'user', name: 'corp:bob' }, { clusters: { all: true } }),
  ];
  const seen = async (query: string): Promise<unknown> => {
    const { clusters, next } = (await asUser('GET', `/v1/clusters${query}`)).json as {
      clusters: { name: string }[];
      next?: string;
    };
    return [clusters.map(({ name }) => name), next];
  };
  expect(await seen('')).toEqual([['b-shop', 'd-shop', 'e-named'], undefined]);
  expect(await seen('?selector=env%3Dprod')).toEqual([['e-named'], undefined]);
  script.pageSize = 2;
  expect(await seen('')).toEqual([['b-shop', 'd-shop'], 'd-shop']);
  expect(await seen('?after=d-shop')).toEqual([['e-named'], undefined]);
  script.pageSize = 100;
  expect((await asUser('GET', '/v1/clusters/b-shop')).status).toBe(200);
  expect((await asUser('GET', '/v1/clusters/b-shop/access')).json).toMatchObject({ cluster: { name: 'b-shop' } });
  script.grants.delete(byGroup.id);
  expect(await seen('')).toEqual([['e-named'], undefined]);
  for (const path of ['', '/access']) {
    const [hidden, missing] = [
      await asUser('GET', `/v1/clusters/b-shop${path}`),
      await asUser('GET', `/v1/clusters/x${path}`),
    ];
    expect([hidden.status, problemOf(hidden).detail]).toEqual([404, problemOf(missing).detail.replace('x', 'b-shop')]);
  }
});

it('lets whoever has the role of an administrator do what administrators do, in their own name', async () => {
  const token = 'the-token-of-an-administrator-by-grant';
  api.script.users.set(token, userOf('corp:root', { administrator: true }));
  const created = await client.ask('POST', '/v1/clusters', { token, body: { name: 'theirs' } });
  expect(created.status).toBe(201);
  expect((await client.ask('GET', '/v1/clusters/theirs', { token })).status).toBe(200);
});

describe('grants', () => {
  const body = {
    subject: { kind: 'user', name: 'corp:carol' },
    clusters: { names: ['grants-demo'] },
    role: 'view',
    narrowing: { namespaces: ['shop'] },
    expiresAt: '2027-01-01T00:00:00.000Z',
    reason: 'on call',
  };

  it('are made in the name of whoever asks, listed by subject and cluster, shown and taken back', async () => {
    await asAdministrator('POST', '/v1/clusters', { name: 'grants-demo' });
    const made = await asAdministrator('POST', '/v1/grants', body);
    expect(made).toMatchObject({
      status: 201,
      json: { ...body, effect: 'allow', createdBy: 'admin', requestId: null },
    });
    const path = `/v1/grants/${String(made.json.id)}`;
    expect((await asAdministrator('GET', path)).json).toEqual(made.json);
    const listed = async (query: string): Promise<unknown> =>
      (await asAdministrator('GET', `/v1/grants?${query}`)).json;
    expect(await listed('subject=user/corp:carol')).toEqual({ grants: [made.json] });
    expect(await listed('subject=group/corp:carol')).toEqual({ grants: [] });
    expect(await listed('subject=user/corp:carol&cluster=grants-demo')).toEqual({ grants: [made.json] });
    expect(await asAdministrator('DELETE', path)).toMatchObject({ status: 204, text: '' });
    const gone = await asAdministrator('GET', path);
    expect(problemOf(gone)).toMatchObject({
      code: 'NOT_FOUND',
      next: 'see which grants there are: fairlead grant list',
    });
  });

  it('come in pages', async () => {
    const ids = [1, 2, 3].map(() => grantTo(api.script, { kind: 'token', name: 'paged' }).id).sort();
    api.script.pageSize = 2;
    const first = (await asAdministrator('GET', '/v1/grants?subject=token/paged')).json;
    expect(first).toMatchObject({ grants: [{ id: ids[0] }, { id: ids[1] }], next: ids[1] });
    const rest = (await asAdministrator('GET', `/v1/grants?subject=token/paged&after=${ids[1] ?? ''}`)).json;
    api.script.pageSize = 100;
    expect(rest).toMatchObject({ grants: [{ id: ids[2] }] });
    expect(rest).not.toHaveProperty('next');
  });

  it.each([
    [{ ...body, subject: { kind: 'user', name: 'system:admin' } }, 'body.subject.name'],
    [{ ...body, groups: ['system:masters'] }, 'body.groups.0'],
    [{ ...body, role: 'owner' }, 'body.role'],
    [{ ...body, by: 'somebody-else' }, 'body'],
    [{ ...body, narrowing: { namespace: ['shop'] } }, 'body.narrowing'],
    [{ ...body, clusters: { all: true, names: ['a'] } }, 'body.clusters'],
    [{ ...body, expiresAt: 'tomorrow' }, 'body.expiresAt'],
    [{ ...body, reason: 'no\0text' }, 'body.reason'],
    [{ ...body, reason: 'half \ud83d' }, 'body.reason'],
    [{ ...body, narrowing: { names: ['a\0'] } }, 'body.narrowing.names.0'],
  ])('are refused where they say what no grant can', async (wrong, path) => {
    const refused = await asAdministrator('POST', '/v1/grants', wrong);
    expect(refused.status).toBe(400);
    expect(problemOf(refused).problems?.map((each) => each.path)).toContain(path);
  });

  it.each([
    'subject=alice',
    'subject=user/',
    'subject=robot/x',
    'subject=user/system:x',
    'cluster=A',
    'after=1',
    'x=y',
    'subject=user/a%00b',
  ])('are not listed by %s', async (query) => {
    expect((await asAdministrator('GET', `/v1/grants?${query}`)).status).toBe(400);
  });

  it('are shown to those whom they are for, also to their groups, and to nobody else', async () => {
    const alices = grantTo(api.script, { kind: 'group', name: 'corp:developers' }, { reason: 'hers' });
    grantTo(api.script, { kind: 'user', name: 'corp:bob' }, { reason: 'his' });
    // A token named like her is somebody else.
    grantTo(api.script, { kind: 'token', name: 'corp:alice' });
    const { grants } = (await asUser('GET', '/v1/users/me/grants')).json as {
      grants: { id: string; reason: string }[];
    };
    expect(grants.map(({ id }) => id)).toContain(alices.id);
    expect(grants.every(({ reason }) => reason !== 'his')).toBe(true);
    expect(JSON.stringify(grants)).not.toContain('"token"');
  });
});

describe('access requests', () => {
  const body = { clusters: { names: ['prod'] }, role: 'edit', narrowing: {}, seconds: 7_200, reason: 'incident 7' };

  it('are made by users for themselves, and decided by administrators', async () => {
    const asked = await asUser('POST', '/v1/access-requests', body);
    expect(asked).toMatchObject({ status: 201, json: { ...body, user: 'corp:alice', state: 'pending' } });
    expect((await asUser('POST', '/v1/access-requests', { ...body, user: 'corp:bob' })).status).toBe(400);
    const second = await asUser('POST', '/v1/access-requests', { ...body, reason: 'another' });
    const [first, other] = [asked, second].map(({ json }) => `/v1/access-requests/${String(json.id)}`);
    expect((await asUser('POST', `${first ?? ''}/approval`)).status).toBe(403);
    const approved = await asAdministrator('POST', `${first ?? ''}/approval`);
    expect(approved).toMatchObject({ status: 200, json: { state: 'approved', decidedBy: 'admin' } });
    expect(api.script.grants.get(String(approved.json.grantId))).toMatchObject({ role: 'edit', createdBy: 'admin' });
    expect((await asAdministrator('POST', `${first ?? ''}/rejection`)).status).toBe(409);
    expect((await asAdministrator('POST', `${other ?? ''}/rejection`)).json).toMatchObject({ state: 'rejected' });
    expect((await asUser('GET', '/v1/users/me/access-requests?state=approved')).json).toEqual({
      requests: [approved.json],
    });
    expect((await asAdministrator('GET', '/v1/access-requests?state=pending')).json).toEqual({ requests: [] });
    expect((await asAdministrator('GET', '/v1/access-requests?user=corp:alice')).status).toBe(400);
  });

  it('are decided by somebody else', async () => {
    const own = await asAdministrator('POST', '/v1/access-requests', body);
    const refused = await asAdministrator('POST', `/v1/access-requests/${String(own.json.id)}/approval`);
    expect(problemOf(refused)).toMatchObject({ code: 'FORBIDDEN', next: 'let another administrator decide about it' });
  });
});

describe('an explanation', () => {
  const question = { cluster: 'explained', verb: 'get', resource: 'pods', namespace: 'shop' };

  it('is given to a user about themselves, with the groups that they logged in with', async () => {
    await asAdministrator('POST', '/v1/clusters', { name: 'explained' });
    const grant = grantTo(api.script, { kind: 'user', name: 'corp:alice' }, { clusters: { names: ['explained'] } });
    const explained = await asUser('POST', '/v1/access/explanation', question);
    expect(explained).toMatchObject({
      status: 200,
      json: { allowed: true, grantId: grant.id, groups: ['fairlead:view'] },
    });
    expect(api.script.explained.at(-1)).toMatchObject({
      ...question,
      subject: { kind: 'user', name: 'corp:alice' },
      subjectGroups: ['corp:developers'],
    });
  });

  it.each([
    { ...question, subject: { kind: 'user', name: 'corp:bob' } },
    { ...question, subject: { kind: 'group', name: 'corp:developers' } },
    { ...question, groups: ['corp:admins'] },
  ])('is not given to a user about others, or as if they had other groups', async (body) => {
    expect(problemOf(await asUser('POST', '/v1/access/explanation', body)).code).toBe('FORBIDDEN');
  });

  it('does not tell a user that a cluster is there', async () => {
    await asAdministrator('POST', '/v1/clusters', { name: 'unseen' });
    grantTo(api.script, { kind: 'user', name: 'corp:bob' }, { clusters: { names: ['unseen'] } });
    for (const { id } of [...api.script.grants.values()].filter(({ clusters }) => 'all' in clusters)) {
      api.script.grants.delete(id);
    }
    const refused = await asUser('POST', '/v1/access/explanation', { ...question, cluster: 'unseen' });
    expect(problemOf(refused)).toMatchObject({
      code: 'NOT_FOUND',
      next: expect.stringContaining('access request') as string,
    });
  });

  it('is given to administrators about anybody, but not about a token that needs no grant', async () => {
    const subject = { kind: 'user', name: 'corp:bob' };
    const explained = await asAdministrator('POST', '/v1/access/explanation', { ...question, subject });
    expect(explained.json).toMatchObject({ allowed: false, grantId: null });
    expect(problemOf(await asAdministrator('POST', '/v1/access/explanation', question))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      next: expect.stringContaining('fairlead access explain USER') as string,
    });
  });
});

describe('a lockdown', () => {
  it('is of one cluster or of all, says why, and is lifted', async () => {
    await asAdministrator('POST', '/v1/clusters', { name: 'locked' });
    const reason = 'a laptop was stolen';
    const one = await asAdministrator('PUT', '/v1/clusters/locked/lockdown', { reason });
    expect(one).toMatchObject({ status: 200, json: { cluster: 'locked', by: 'admin', reason } });
    expect((await asAdministrator('PUT', '/v1/lockdown', { reason })).json).toMatchObject({ cluster: null });
    expect((await asAdministrator('GET', '/v1/lockdowns')).json.lockdowns).toHaveLength(2);
    expect((await asAdministrator('PUT', '/v1/lockdown', {})).status).toBe(400);
    expect((await asAdministrator('PUT', '/v1/clusters/nowhere/lockdown', { reason })).status).toBe(404);
    for (const path of ['/v1/clusters/locked/lockdown', '/v1/lockdown']) {
      expect((await asAdministrator('DELETE', path)).status).toBe(204);
      expect((await asAdministrator('DELETE', path)).status).toBe(404);
    }
  });
});

describe('API tokens', () => {
  it('are made, with a secret that is told once and stands in no log, listed and revoked', async () => {
    const made = await asAdministrator('POST', '/v1/api-tokens', { name: 'deployer', expiresAt: null });
    const { token, secret } = made.json as { token: { id: string }; secret: string };
    expect(made).toMatchObject({
      status: 201,
      json: { token: { name: 'deployer', createdBy: 'admin', revokedAt: null } },
    });
    expect((await asAdministrator('POST', '/v1/api-tokens', { name: 'deployer', expiresAt: null })).status).toBe(409);
    const listed = await asAdministrator('GET', '/v1/api-tokens');
    expect(listed.json).toEqual({ tokens: [token] });
    const revoked = await asAdministrator('POST', `/v1/api-tokens/${token.id}/revocation`);
    expect(revoked.json).toMatchObject({ id: token.id, revokedAt: expect.any(String) as string });
    expect(
      problemOf(await asAdministrator('POST', '/v1/api-tokens', { name: 'No Name', expiresAt: null })).problems,
    ).toMatchObject([{ path: 'body.name' }]);
    expect([...api.logLines, listed.text].join('')).not.toContain(secret);
  });
});

describe('issuers', () => {
  it('are put, listed and forgotten', async () => {
    const issuer = { kind: 'oidc', url: 'https://login.example.com', audience: 'fairlead', prefix: 'corp:' };
    const put = await asAdministrator('PUT', '/v1/issuers/corp', issuer);
    expect(put).toMatchObject({ status: 200, json: { ...issuer, name: 'corp', userClaim: 'sub' } });
    expect((await asAdministrator('GET', '/v1/issuers')).json).toEqual({ issuers: [put.json] });
    expect((await asAdministrator('PUT', '/v1/issuers/other', issuer)).status).toBe(409);
    expect((await asAdministrator('PUT', '/v1/issuers/other', { ...issuer, url: 'ftp://x' })).status).toBe(400);
    expect((await asAdministrator('DELETE', '/v1/issuers/corp')).status).toBe(204);
    expect((await asAdministrator('DELETE', '/v1/issuers/corp')).status).toBe(404);
  });
});

it('users who have logged in are listed to administrators', async () => {
  const at = '2026-11-01T00:00:00.000Z';
  const known = { tenantId: 'default', issuer: 'corp', groups: ['corp:developers'], firstLoginAt: at, lastLoginAt: at };
  const user = { ...known, id: crypto.randomUUID(), name: 'corp:alice', kind: 'user' } as const;
  api.script.knownUsers.push(user);
  expect((await asAdministrator('GET', '/v1/users')).json).toEqual({ users: [user] });
  expect((await asAdministrator('GET', `/v1/users?after=${user.id}`)).json).toEqual({ users: [] });
});

it('has signed what a user may do in a cluster, for the token that they ask with', async () => {
  await client.ask('POST', '/v1/clusters', { body: { name: 'signed-for' } });
  const given = await asUser('POST', '/v1/clusters/signed-for/credential', { seconds: 600 });
  const { statement, openUntil } = given.json as { statement: string; openUntil: string };
  expect([given.status, Buffer.from(statement, 'base64url').toString()]).toEqual([200, 'signed 1']);
  expect(Date.parse(openUntil) - Date.now()).toBeLessThanOrEqual(600_000);
  expect(api.script.statementsAsked).toEqual([{ cluster: 'signed-for', seconds: 600 }]);
  expect((await asUser('POST', '/v1/clusters/nowhere/credential', {})).status).toBe(404);
  expect((await asUser('POST', '/v1/clusters/signed-for/credential', { seconds: 5 })).status).toBe(400);
});

it('tells a user of their own sessions and of nobody else’s, and lets them end none', async () => {
  const { script } = api;
  const common = { kind: 'watch', gateway: 'gateway-a', owner: null, clusterId: crypto.randomUUID() } as const;
  const more = { cluster: 'prod', as: null, address: '', bytesUp: 0, bytesDown: 0, target: '' };
  const since = new Date().toISOString();
  const of = (user: string) => ({ ...common, ...more, since, id: crypto.randomUUID(), user });
  script.passages.push(of('corp:alice'), of('corp:bob'));
  const usersSeen = ({ json }: Answer) => (json as { sessions: { user: string }[] }).sessions.map(({ user }) => user);
  expect(usersSeen(await asUser('GET', '/v1/sessions?user=corp:bob'))).toEqual(['corp:alice']);
  expect(usersSeen(await asAdministrator('GET', '/v1/sessions'))).toEqual(['corp:alice', 'corp:bob']);
  expect((await asAdministrator('POST', '/v1/sessions/end', {})).status).toBe(400);
  const ended = await asAdministrator('POST', '/v1/sessions/end', { user: 'corp:bob' });
  expect(ended.json).toEqual({ ended: 1, silent: [] });
  expect(script.passagesEnded).toEqual([
    { user: 'corp:bob', reason: 'ended by an administrator', by: script.principal.user },
  ]);
});
