import 'reflect-metadata';
import { createHash } from 'node:crypto';
import {
  AccessEntry,
  BUCKETS,
  GrantsEntry,
  NO_TENANT,
  NewGrant,
  accessRpc,
  grantsKeys,
  type Grant,
  type Rpc,
} from '@fairlead/contracts';
import { KeyedProjection, Projection } from '@fairlead/events';
import { createRpcClient, serveRpc, watchBucket, type KvSnapshot, type RpcClient } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAccess, type Runtime } from './index.js';
import { LOGIN_LIVES, accessDatabase, type AccessDatabase } from './testing/access-fixture.js';
import { KnownTenants, answeringRegistration } from './testing/answering-registration.js';

const by = 'jane@example.com';
const owned = new AsyncDisposableStack();
const tenants = new KnownTenants([
  ['shop', {}],
  ['bank', { grants: 2 }],
]);
let store: AccessDatabase;
let nats: SecuredNats;
let asApi: RpcClient;
let tokens: KvSnapshot<AccessEntry>;
let granted: KvSnapshot<GrantsEntry>;

beforeAll(async () => {
  store = owned.use(await accessDatabase());
  nats = owned.use(await startSecuredNats(store.scratch.path));
  const source = { role: 'access', credential: 'access' } as const;
  const connection = await nats.connect(source);
  const { database } = store;
  const poke = (): void => {
    projection.poke();
    keyed.poke();
  };
  const runtime: Runtime = { database, source, logger: silentLogger, onCommitted: poke, now: () => new Date() };
  const started = owned.use(startAccess(runtime, { nats: connection, logins: LOGIN_LIVES }));
  const common = { database, nats: connection, logger: silentLogger };
  const projection = owned.use(new Projection({ ...common, buckets: started.buckets }));
  const keyed = owned.use(new KeyedProjection({ ...common, bucket: started.keyedBucket }));
  const answering = { connection, queue: 'access', logger: silentLogger, registry: new Registry() };
  owned.use(await serveRpc(started.module, { ...answering, onForged: () => undefined }));
  owned.use(await answeringRegistration(nats, tenants));
  asApi = createRpcClient(await nats.connect({ role: 'api', credential: 'api' }), { role: 'api', credential: 'api' });
  const reader = await nats.connect({ role: 'gateway', credential: 'gateway-a' });
  tokens = watchBucket(reader, BUCKETS.access, AccessEntry);
  granted = watchBucket(reader, BUCKETS.grants, GrantsEntry);
  owned.defer(async () => void (await Promise.all([tokens.close(), granted.close()])));
});
afterAll(() => owned.disposeAsync());

const newToken = (tenant: string, name: string) =>
  asApi.call(accessRpc.createToken, tenant, { name, expiresAt: null, by });
function grant(tenant: string, name: string, role: 'view' | 'administrator' = 'view'): Promise<Grant> {
  const asked = { subject: { kind: 'token', name }, clusters: { all: true }, role, expiresAt: null, reason: 'x' };
  return asApi.call(accessRpc.createGrant, tenant, { ...NewGrant.parse(asked), by });
}
const authenticate = (secret: string) => {
  const tokenHash = createHash('sha256').update(secret).digest('base64');
  return asApi.call(accessRpc.authenticate, NO_TENANT, { tokenHash });
};
const issuer = {
  name: 'corp',
  kind: 'workload',
  url: 'https://login.example.com',
  audience: 'fairlead',
  prefix: 'corp:',
  requiredClaims: { repository: 'org/*' },
} as const;

it('a tenant’s administrator is one in that tenant, and what is granted to the same name elsewhere is not theirs', async () => {
  const [boss, namesake] = [await newToken('shop', 'boss'), await newToken('bank', 'boss')];
  await grant('shop', 'boss', 'administrator');
  expect(await authenticate(boss.secret)).toMatchObject({ tenantId: 'shop', administrator: true });
  expect(await authenticate(namesake.secret)).toMatchObject({ tenantId: 'bank', administrator: false });
});

it('has as many grants as it may, those that somebody asked for included', async () => {
  const [first] = [await grant('bank', 'one'), await grant('bank', 'two')];
  const full = { code: 'QUOTA_EXCEEDED' };
  await expect(grant('bank', 'three')).rejects.toMatchObject(full);
  const asked = { clusters: { all: true }, role: 'view', narrowing: {}, seconds: 600, reason: 'x' } as const;
  const { id } = await asApi.call(accessRpc.requestAccess, 'bank', { ...asked, user: 'corp:alice' });
  const approve = () => asApi.call(accessRpc.decideAccessRequest, 'bank', { id, by, approve: true });
  await expect(approve()).rejects.toMatchObject(full);
  await asApi.call(accessRpc.deleteGrant, 'bank', { id: first.id, by });
  expect(await approve()).toMatchObject({ state: 'approved' });
});

it('that was deleted has nobody, here and at doors, whatever somebody of it adds at that moment; others have all they had', async () => {
  const [{ token, secret }, other] = [await newToken('shop', 'ci'), await newToken('bank', 'ci')];
  await grant('shop', 'ci');
  await asApi.call(accessRpc.putIssuer, 'shop', { ...issuer, by, scopes: [], userClaim: 'sub', groupsClaim: 'groups' });
  await asApi.call(accessRpc.lockDown, 'shop', { cluster: null, by, reason: 'x' });
  const asked = { clusters: { all: true }, role: 'view', narrowing: {}, seconds: 600, reason: 'x' } as const;
  await asApi.call(accessRpc.requestAccess, 'shop', { ...asked, user: 'corp:alice' });
  const key = grantsKeys.subject('shop', { kind: 'token', name: 'ci' });
  await eventually(() => {
    expect(tokens.get(`shop.token.${token.id}`)).toBeDefined();
    expect(granted.get(key)).toBeDefined();
    expect(granted.get(grantsKeys.lockdown('shop', null))).toBeDefined();
  });
  await asApi.call(accessRpc.forgetTenant, 'shop', {});
  await expect(authenticate(secret)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await eventually(() => {
    const left = [...tokens.entries(), ...granted.entries()].map(([name]) => name);
    expect(left.filter((name) => name.startsWith('shop.'))).toEqual([]);
  });
  const lists = [accessRpc.listTokens, accessRpc.listGrants, accessRpc.listAccessRequests, accessRpc.listUsers];
  for (const list of lists as readonly Rpc[]) expect(await asApi.call(list, 'shop', {})).toEqual({ items: [] });
  expect(await asApi.call(accessRpc.listIssuers, 'shop', {})).toEqual({ issuers: [] });
  expect(await asApi.call(accessRpc.listLockdowns, 'shop', {})).toEqual({ lockdowns: [] });
  // Registration has not answered yet to somebody who was let in a moment ago.
  const late = await newToken('shop', 'late');
  await expect(authenticate(late.secret)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await asApi.call(accessRpc.forgetTenant, 'shop', {});
  expect(await asApi.call(accessRpc.listTokens, 'shop', {})).toEqual({ items: [] });
  expect(await authenticate(other.secret)).toMatchObject({ tenantId: 'bank' });
  // The name of its issuer is free.
  expect(await asApi.call(accessRpc.putIssuer, 'bank', { ...issuer, by })).toMatchObject({ name: 'corp' });
});

it('names of the installation’s administrators, as they act in a tenant, are nobody’s prefix', async () => {
  const put = asApi.call(accessRpc.putIssuer, 'bank', { ...issuer, name: 'sly', prefix: 'installation/', by });
  await expect(put).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('has no issuer on the loopback of the access service', async () => {
  const put = asApi.call(accessRpc.putIssuer, 'bank', { ...issuer, name: 'local', url: 'http://127.0.0.1:8080', by });
  await expect(put).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
