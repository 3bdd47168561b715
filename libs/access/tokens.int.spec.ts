import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { AccessEntry, BUCKETS, DEFAULT_TENANT, NO_TENANT, accessRpc, type ApiToken } from '@fairlead/contracts';
import { OutboxRelay, Projection } from '@fairlead/events';
import { createRpcClient, putKv, serveRpc, watchBucket, type KvSnapshot, type RpcClient } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { setAdministratorToken, startAccess, type Runtime } from './index.js';
import { LOGIN_LIVES, accessDatabase, lastEvents, type AccessDatabase } from './testing/access-fixture.js';
import { KnownTenants, answeringRegistration } from './testing/answering-registration.js';

const ADMINISTRATOR_TOKEN = 'x'.repeat(32);
const by = 'jane@example.com';
const api = { role: 'api', credential: 'api' } as const;
const HOUR_MS = 3_600_000;

let store: AccessDatabase;
let nats: SecuredNats;
let connection: NatsConnection;
let runtime: Runtime;
let known: KvSnapshot<AccessEntry>;
let asApi: RpcClient;
let aheadMs = 0;
const tenants = new KnownTenants([['other', {}]]);
const owned = new AsyncDisposableStack();

beforeAll(async () => {
  store = owned.use(await accessDatabase());
  nats = owned.use(await startSecuredNats(store.scratch.path));
  const source = { role: 'access', credential: 'access' } as const;
  connection = await nats.connect(source);
  const { database } = store;
  const relay = owned.use(new OutboxRelay({ database, nats: connection, logger: silentLogger }));
  runtime = {
    database,
    source,
    logger: silentLogger,
    onCommitted: () => {
      relay.poke();
      projection.poke();
    },
    now: () => new Date(Date.now() + aheadMs),
  };
  const started = owned.use(startAccess(runtime, { nats: connection, logins: LOGIN_LIVES }));
  const projection = owned.use(
    new Projection({ database, nats: connection, logger: silentLogger, buckets: started.buckets }),
  );
  const answering = { connection, queue: 'access', logger: silentLogger, registry: new Registry() };
  owned.use(await serveRpc(started.module, { ...answering, onForged: () => undefined }));
  owned.use(await answeringRegistration(nats, tenants));
  await setAdministratorToken(runtime, ADMINISTRATOR_TOKEN);
  asApi = createRpcClient(await nats.connect(api), api);
  known = watchBucket(await nats.connect({ role: 'gateway', credential: 'gateway-a' }), BUCKETS.access, AccessEntry);
  owned.defer(() => known.close());
});
afterAll(() => owned.disposeAsync());
beforeEach(() => {
  aheadMs = 0;
});

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');
const authenticate = (secret: string) => asApi.call(accessRpc.authenticate, NO_TENANT, { tokenHash: hashOf(secret) });
const nobody = { code: 'UNAUTHENTICATED' };

const create = (name: string, { forMs, tenant = DEFAULT_TENANT }: { forMs?: number; tenant?: string } = {}) => {
  const expiresAt = forMs === undefined ? null : new Date(Date.now() + forMs).toISOString();
  return asApi.call(accessRpc.createToken, tenant, { name, expiresAt, by });
};
const revoke = (id: string, tenant = DEFAULT_TENANT) => asApi.call(accessRpc.revokeToken, tenant, { id, by });
const entryOf = ({ id, tenantId }: ApiToken) => known.get(`${tenantId}.token.${id}`);

it('the administrator has exactly one token, which gateways know, and a short one is refused', async () => {
  await setAdministratorToken(runtime, 'a'.repeat(32));
  const set = (): Promise<void> => setAdministratorToken(runtime, ADMINISTRATOR_TOKEN);
  await Promise.all([set(), set()]);
  expect(await authenticate(ADMINISTRATOR_TOKEN)).toMatchObject({
    tenantId: 'default',
    kind: 'administrator',
    user: 'admin',
    groups: ['fairlead:admins'],
    administrator: true,
    auditor: false,
    expiresAt: null,
  });
  await expect(authenticate('a'.repeat(32))).rejects.toMatchObject(nobody);
  await expect(setAdministratorToken(runtime, 'short')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const { tokenId } = await authenticate(ADMINISTRATOR_TOKEN);
  const administrators = () => [...known.entries()].filter(([, { kind }]) => kind === 'administrator');
  await eventually(() => expect(administrators()).toMatchObject([[`default.token.${tokenId}`, { user: 'admin' }]]));
  const [key, entry] = administrators()[0]!;
  await putKv(connection, BUCKETS.access, key, { ...entry, user: 'somebody' });
  await eventually(() => expect(known.get(key)).toEqual(entry));
  await putKv(connection, BUCKETS.access, key, 'unreadable');
  await eventually(() => expect(known.get(key)).toEqual(entry));
});

it('an API token is told once, is nobody’s but its own, and has nothing without a grant', async () => {
  const { token, secret } = await create('ci', { forMs: HOUR_MS });
  expect(secret).toMatch(/^fairlead_[A-Za-z0-9_-]{43}$/);
  expect(await authenticate(secret)).toEqual({
    tenantId: 'default',
    tokenId: token.id,
    kind: 'token',
    user: 'token:ci',
    groups: [],
    subjectGroups: [],
    administrator: false,
    auditor: false,
    expiresAt: token.expiresAt,
  });
  await expect(authenticate(`${secret}x`)).rejects.toMatchObject(nobody);
  await eventually(() => expect(entryOf(token)).toMatchObject({ kind: 'token', user: 'token:ci', groups: [] }));
  const [event] = await lastEvents(store.database, 1);
  expect(event).toMatchObject({
    type: 'dev.fairlead.api-token.created.v1',
    data: { tokenId: token.id, user: 'token:ci', name: 'ci', actor: { kind: 'user', id: by } },
  });
  const stored: unknown = await store.database.query('select * from api_tokens');
  const told = JSON.stringify([stored, await lastEvents(store.database, 100), [...known.entries()]]);
  expect(told).toContain(hashOf(secret));
  expect(told).not.toContain(secret);
});

it('no second one has its name, and none ends before it begins', async () => {
  await create('deploy');
  await expect(create('deploy')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  const both = await Promise.allSettled([create('twice'), create('twice')]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  await expect(create('late', { forMs: -1_000 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const other = await create('deploy', { tenant: 'other' });
  expect(await authenticate(other.secret)).toMatchObject({ tenantId: 'other', user: 'token:deploy' });
});

it('one that was revoked is nobody’s, at gateways too, and its name is free', async () => {
  const { token, secret } = await create('old');
  await eventually(() => expect(entryOf(token)).toBeDefined());
  await expect(revoke(token.id, 'other')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const revoked = await revoke(token.id);
  expect(revoked.revokedAt).not.toBeNull();
  expect(await revoke(token.id)).toEqual(revoked);
  await expect(authenticate(secret)).rejects.toMatchObject(nobody);
  await eventually(() => expect(entryOf(token)).toBeUndefined());
  const again = await create('old');
  expect(again.secret).not.toBe(secret);
  const told = (await lastEvents(store.database, 100)).filter(
    ({ type, data }) => type.includes('revoked') && (data as { tokenId?: string }).tokenId === token.id,
  );
  expect(told).toHaveLength(1);
});

it('are as many as the tenant may have; those that were revoked or have ended leave room', async () => {
  const tenant = 'small';
  tenants.set(tenant, { apiTokens: 2 });
  const { token } = await create('one', { tenant });
  await create('two', { tenant, forMs: HOUR_MS });
  const full = expect.objectContaining({
    code: 'QUOTA_EXCEEDED',
    message: expect.stringContaining('2') as string,
  }) as Error;
  await expect(create('three', { tenant })).rejects.toEqual(full);
  await revoke(token.id, tenant);
  const both = await Promise.allSettled([create('three', { tenant }), create('four', { tenant })]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  aheadMs = HOUR_MS + 1;
  await create('five', { tenant });
  await expect(create('one', { tenant: 'nowhere' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('the administrator’s is neither listed nor revoked', async () => {
  const { tokenId } = await authenticate(ADMINISTRATOR_TOKEN);
  const { items } = await asApi.call(accessRpc.listTokens, DEFAULT_TENANT, {});
  expect(items.map(({ id }) => id)).not.toContain(tokenId);
  await expect(revoke(tokenId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('ends by the clock', async () => {
  const { token, secret } = await create('short', { forMs: HOUR_MS });
  aheadMs = HOUR_MS - 10_000;
  expect(await authenticate(secret)).toMatchObject({ tokenId: token.id });
  aheadMs = HOUR_MS + 1;
  await expect(authenticate(secret)).rejects.toMatchObject(nobody);
  // Its name is not free before it is revoked: what was granted to it would be the next one's.
  await expect(create('short')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
});

it('when it was used last is known to the minute, and never goes back', async () => {
  const { token, secret } = await create('used');
  const usedAt = async (): Promise<string | null | undefined> => {
    const { items } = await asApi.call(accessRpc.listTokens, DEFAULT_TENANT, {});
    return items.find(({ id }) => id === token.id)?.lastUsedAt;
  };
  expect(await usedAt()).toBeNull();
  aheadMs = 10 * 60_000;
  await authenticate(secret);
  await eventually(async () => expect(await usedAt()).toMatch(/:00\.000Z$/), { timeoutMs: 20_000 });
  const first = await usedAt();
  aheadMs = 0;
  await authenticate(secret);
  aheadMs = 20 * 60_000;
  await authenticate(secret);
  await eventually(async () => expect(await usedAt()).not.toBe(first), { timeoutMs: 20_000 });
  expect(Date.parse((await usedAt()) ?? '')).toBeGreaterThan(Date.parse(first ?? ''));
});

it('are listed in pages that miss none', async () => {
  await store.database.query(
    `insert into api_tokens (id, tenant_id, kind, name, token_hash, created_by, created_at)
     select gen_random_uuid(), 'many', 'token', 'n' || n, 'h' || n, 'x', now() from generate_series(1, 450) n`,
  );
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = await asApi.call(accessRpc.listTokens, 'many', after === undefined ? {} : { after });
    found.push(...page.items.map(({ name }) => name));
    after = page.next;
  } while (after !== undefined);
  expect(found).toHaveLength(450);
  expect(new Set(found).size).toBe(450);
});
