import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkedClient, problemOf, type Answer, type CheckedClient } from './testing/checked-client.js';
import { startScriptedApi, type ScriptedApi } from './testing/scripted-api.js';
import { userOf } from './testing/somebody.js';

const BOSS = 'a-token-of-who-administers-one-tenant';
const ROOT = 'a-token-of-an-administrator-by-grant-';
const DEVELOPER = 'a-token-of-a-user-of-some-length-too';

let api: ScriptedApi;
let client: CheckedClient;

beforeAll(async () => {
  api = await startScriptedApi();
  const { users } = api.script;
  users.set(BOSS, userOf('token:boss', { kind: 'token', tenantId: 'shop', administrator: true }));
  users.set(ROOT, userOf('corp:root', { administrator: true, subjectGroups: ['corp:admins'] }));
  users.set(DEVELOPER, userOf('corp:alice'));
  client = await checkedClient(api);
  for (const name of ['shop', 'bank']) await ask('POST', '/v1/tenants', { body: { name } });
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

interface As {
  readonly token?: string;
  readonly tenant?: string;
  readonly body?: unknown;
}
function ask(method: string, path: string, { token, tenant, body }: As = {}): Promise<Answer> {
  const headers = tenant === undefined ? {} : { 'fairlead-tenant': tenant };
  return client.ask(method, path, { headers, ...(token ? { token } : {}), ...(body === undefined ? {} : { body }) });
}

/** Every operation for administrators of the installation alone, by the document. */
function ofInstallation(): { method: string; path: string; id: string }[] {
  return Object.entries(client.document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId: id, security }]) => {
      const [scheme] = (security ?? []) as { bearer: string[] }[];
      const path = template.replaceAll(/\{\w+\}/g, 'x');
      return scheme?.bearer[0] === 'installation' ? [{ method: method.toUpperCase(), path, id }] : [];
    }),
  );
}

describe('what belongs to the installation', () => {
  it('is for its administrators, and not for those of a tenant', async () => {
    const operations = ofInstallation();
    expect(operations.map(({ id }) => id).sort()).toEqual([
      'abortCa',
      'activateCa',
      'adoptionManifest',
      'beginAuditLogAnew',
      'createTenant',
      'deleteTenant',
      'getCa',
      'getTenant',
      'listEndpoints',
      'listGatewayCertificates',
      'listTenants',
      'prepareCa',
      'putEndpoint',
      'putTenantQuotas',
      'removeEndpoint',
      'retireCa',
      'revokeGateway',
    ]);
    for (const { method, path } of operations) {
      for (const tenant of [undefined, 'default']) {
        const refused = await ask(method, path, { token: BOSS, ...(tenant ? { tenant } : {}) });
        expect([path, refused.status, problemOf(refused).code]).toEqual([path, 403, 'FORBIDDEN']);
        expect(problemOf(refused).detail).toContain('administrators of the installation');
      }
    }
    expect((await ask('GET', '/v1/ca', { token: ROOT })).status).toBe(200);
  });
});

describe('in another tenant', () => {
  it('act the installation’s administrators, by a name that nobody there has, and without their grants', async () => {
    const made = await ask('POST', '/v1/clusters', { tenant: 'shop', body: { name: 'shop-1' } });
    expect(made).toMatchObject({ status: 201, json: { tenantId: 'shop' } });
    const token = await ask('POST', '/v1/api-tokens', { tenant: 'shop', body: { name: 'boss', expiresAt: null } });
    expect(token.json).toMatchObject({ token: { tenantId: 'shop', createdBy: 'installation/admin' } });
    const whoami = await ask('GET', '/v1/whoami', { token: ROOT, tenant: 'shop' });
    expect(whoami.json).toMatchObject({
      tenantId: 'shop',
      user: 'installation/corp:root',
      groups: [],
      subjectGroups: [],
      administrator: true,
    });
    expect((await ask('GET', '/v1/whoami', { tenant: 'nowhere' })).status).toBe(404);
    expect((await ask('GET', '/v1/whoami', { tenant: 'No.Tenant' })).status).toBe(400);
    expect((await ask('GET', '/v1/whoami', { tenant: 'default' })).json).toMatchObject({ user: 'admin' });
  });

  it.each([
    ['an administrator of another', BOSS],
    ['a user', DEVELOPER],
  ])('does not act %s, and is not told whether there is one', async (_, token) => {
    const [there, nowhere] = [
      await ask('GET', '/v1/clusters', { token, tenant: 'bank' }),
      await ask('GET', '/v1/clusters', { token, tenant: 'nowhere' }),
    ];
    expect([there.status, problemOf(there).code]).toEqual([403, 'FORBIDDEN']);
    expect(problemOf(nowhere).detail).toBe(problemOf(there).detail.replace('bank', 'nowhere'));
  });
});

describe('tenants', () => {
  it('are made, listed, given quotas and deleted', async () => {
    const made = await ask('POST', '/v1/tenants', { body: { name: 'lab', quotas: { clusters: 3 } } });
    expect(made).toMatchObject({ status: 201, json: { name: 'lab', quotas: { clusters: 3, grants: null } } });
    expect((await ask('POST', '/v1/tenants', { body: { name: 'lab' } })).status).toBe(409);
    expect((await ask('POST', '/v1/tenants', { body: { name: 'lab', quotas: { pods: 1 } } })).status).toBe(400);
    api.script.pageSize = 2;
    const first = (await ask('GET', '/v1/tenants')).json;
    expect(first).toMatchObject({ tenants: [{ name: 'bank' }, { name: 'lab' }], next: 'lab' });
    api.script.pageSize = 100;
    expect((await ask('GET', '/v1/tenants?after=lab')).json).toMatchObject({ tenants: [{ name: 'shop' }] });
    const quotas = { clusters: 0, clients: null, apiTokens: 5, grants: null };
    expect((await ask('PUT', '/v1/tenants/lab/quotas', { body: quotas })).json).toMatchObject({ quotas });
    expect((await ask('GET', '/v1/tenants/lab')).json).toMatchObject({ quotas });
    expect((await ask('DELETE', '/v1/tenants/lab')).status).toBe(204);
    expect((await ask('DELETE', '/v1/tenants/lab')).status).toBe(204);
    expect(api.script.forgotten).toEqual(['lab', 'lab']);
    expect((await ask('GET', '/v1/tenants/lab')).status).toBe(404);
    expect((await ask('DELETE', '/v1/tenants/nowhere')).status).toBe(404);
  });

  it('are changed only as long as they are what somebody has seen, if that is said', async () => {
    const shown = await ask('GET', '/v1/tenants/shop');
    const etag = String(shown.headers['etag']);
    expect(etag).toBe(`"${String(shown.json.revision)}"`);
    const put = (clusters: number, ifMatch: string) =>
      client.ask('PUT', '/v1/tenants/shop/quotas', { body: { clusters }, headers: { 'if-match': ifMatch } });
    const changed = await put(7, etag);
    expect([changed.status, changed.headers['etag']]).toEqual([200, expect.not.stringMatching(etag) as string]);
    const late = await put(8, etag);
    expect([late.status, problemOf(late).code]).toEqual([412, 'REVISION_CONFLICT']);
    expect((await put(8, 'no-etag')).status).toBe(400);
  });

  it('with something left at another service are not deleted, and nothing is asked of the access service', async () => {
    const { script } = api;
    const told = script.forgotten.length;
    const about = { id: crypto.randomUUID(), digest: 'a'.repeat(64), origin: 'install.yaml', importedBy: 'admin' };
    const size = { bytes: 1, compressedBytes: 1, objects: 1, images: [] };
    const importedAt = new Date().toISOString();
    script.bundles.set('flux v2.7.3', { tool: 'flux', version: 'v2.7.3', ...about, ...size, importedAt });
    const refused = await ask('DELETE', '/v1/tenants/bank');
    script.bundles.clear();
    expect([refused.status, problemOf(refused).detail]).toEqual([
      409,
      expect.stringContaining('bundles (1)') as string,
    ]);
    expect(script.forgotten).toHaveLength(told);
    expect((await ask('GET', '/v1/tenants/bank')).status).toBe(200);
  });
});
