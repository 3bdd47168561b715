import 'reflect-metadata';
import {
  BUCKETS,
  accessRpc,
  ClusterEntry,
  GrantsEntry,
  NewGrant,
  grantsKeys,
  type Caller,
  type Grant,
  type Principal,
  type Subject,
} from '@fairlead/contracts';
import { KeyedProjection, markChanged, type ServiceRuntime } from '@fairlead/events';
import {
  createRpcClient,
  deleteKv,
  provisionJetStream,
  putKv,
  serveRpc,
  watchBucket,
  type KvSnapshot,
} from '@fairlead/messaging';
import { operator, startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { Registry, silentLogger } from '@fairlead/observability';
import { inTransaction } from '@fairlead/persistence';
import { eventually } from '@fairlead/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessRequests } from './feature/access-requests.js';
import { apiRolesOf } from './feature/administration.js';
import { ExplainAccess } from './feature/explain-access.js';
import { GRANTS_BUCKET } from './feature/grants-bucket.js';
import { Grants } from './feature/grants.js';
import { KnownClusters } from './feature/known-clusters.js';
import { Lockdowns } from './feature/lockdowns.js';
import { startAccess } from './feature/start-access.js';
import { tendGrants } from './feature/tend-grants.js';
import { insertGrant } from './store/grant-store.js';
import { LOGIN_LIVES, accessDatabase, lastEvents, noQuotas, type AccessDatabase } from './testing/access-fixture.js';

const source: Caller = { role: 'access', credential: 'access' };
const api: Caller = { role: 'api', credential: 'api' };
const T = 'default';
const DAY_MS = 86_400_000;

let stored: AccessDatabase;
let database: DataSource;
let nats: SecuredNats;
let connection: NatsConnection;
let registration: NatsConnection;
/** As a gateway has it. */
let reader: NatsConnection;
let bucket: KvSnapshot<GrantsEntry>;
let clusters: KnownClusters;
let grants: Grants;
let requests: AccessRequests;
let lockdowns: Lockdowns;
let projection: KeyedProjection;
/** The service's clock runs ahead by so much. */
let aheadMs = 0;
const now = (): Date => new Date(Date.now() + aheadMs);
let runtime: ServiceRuntime;

beforeAll(async () => {
  stored = await accessDatabase();
  ({ database } = stored);
  nats = await startSecuredNats(stored.scratch.path);
  connection = await nats.connect(source);
  registration = await nats.connect({ role: 'registration', credential: 'registration' });
  reader = await nats.connect({ role: 'gateway', credential: 'gateway-a' });
  bucket = watchBucket(reader, BUCKETS.grants, GrantsEntry);
  clusters = new KnownClusters(connection, silentLogger);
  runtime = { database, source, logger: silentLogger, onCommitted: () => projection.poke(), now };
  grants = new Grants(runtime, clusters, noQuotas);
  requests = new AccessRequests(runtime, noQuotas);
  lockdowns = new Lockdowns(runtime, clusters);
  projection = new KeyedProjection({ database, nats: connection, logger: silentLogger, bucket: GRANTS_BUCKET });
  await Promise.all([bucket.loaded, clusters.loaded]);
});
afterAll(async () => {
  await projection?.[Symbol.asyncDispose]();
  await Promise.all([clusters?.[Symbol.asyncDispose](), bucket?.close()]);
  await nats?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

const user = (name: string): Subject => ({ kind: 'user', name });
const later = (ms: number): string => new Date(now().getTime() + ms).toISOString();

function grant(subject: Subject, change: Partial<NewGrant> = {}): Promise<Grant> {
  const base = { subject, clusters: { all: true }, role: 'view', expiresAt: later(DAY_MS), reason: 'on call' };
  return grants.create(api, T, { ...NewGrant.parse({ ...base, ...change }), by: 'admin' });
}

/** Of the subject, as doors know them. */
function idsAtDoors(subject: Subject): string[] {
  const entry = bucket.get(grantsKeys.subject(T, subject));
  return entry?.kind === 'subject' ? entry.grants.map(({ rule }) => rule.grantId) : [];
}

async function register(name: string, labels: Record<string, string> = {}): Promise<ClusterEntry> {
  const entry = { tenantId: T, clusterId: crypto.randomUUID(), name, generation: 1, labels };
  await putKv(registration, BUCKETS.clusters, `${T}.${entry.clusterId}`, entry);
  await eventually(() => expect(clusters.find(T, name)?.clusterId).toBe(entry.clusterId));
  return entry;
}

async function types(limit: number): Promise<string[]> {
  return (await lastEvents(database, limit)).map(({ type }) => type.slice('dev.fairlead.'.length));
}

const sorted = (ids: readonly string[]): string[] => ids.toSorted();

describe('grants', () => {
  it('are told to doors by subject, and are gone when they are deleted', async () => {
    const first = await grant(user('ada'));
    const second = await grant(user('ada'), { role: 'edit', narrowing: { namespaces: ['shop'] } });
    await eventually(() => expect(idsAtDoors(user('ada'))).toEqual(sorted([first.id, second.id])));
    expect(bucket.get(grantsKeys.subject(T, user('ada')))).toMatchObject({ subject: user('ada') });
    await grants.delete(api, T, { id: first.id, by: 'admin' });
    await eventually(() => expect(idsAtDoors(user('ada'))).toEqual([second.id]));
    await grants.delete(api, T, { id: second.id, by: 'admin' });
    await eventually(() => expect(bucket.get(grantsKeys.subject(T, user('ada')))).toBeUndefined());
    expect(await types(4)).toEqual(['grant.deleted.v1', 'grant.deleted.v1', 'grant.created.v1', 'grant.created.v1']);
    await expect(grants.delete(api, T, { id: second.id, by: 'admin' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(grants.get(T, second.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('leave nothing behind when they are refused', async () => {
    const before = await types(1_000);
    await expect(grant(user('eve'), { expiresAt: later(-1) })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await grants.list(T, { subject: user('eve') })).toEqual({ items: [] });
    expect(await types(1_000)).toEqual(before);
  });

  it('are at most 256 of one subject, whoever makes them at once', async () => {
    const subject = user('busy');
    const one = await grant(subject);
    await inTransaction(database, async (manager) => {
      for (let i = 1; i < 250; i += 1) await insertGrant(manager, { ...one, id: crypto.randomUUID() });
    });
    const made = await Promise.allSettled(Array.from({ length: 10 }, () => grant(subject)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
    expect(made.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'TOO_LARGE' } });
    await eventually(() => expect(idsAtDoors(subject)).toHaveLength(256));
  });

  it('are listed by pages, of a subject, and of the clusters that they mean', async () => {
    await register('shop', { stage: 'production' });
    const all = await grant(user('lister'));
    const named = await grant(user('lister'), { clusters: { names: ['shop', 'other'] } });
    const selected = await grant(user('lister'), { clusters: { selector: 'stage=production' } });
    const others = [
      await grant(user('lister'), { clusters: { selector: 'stage=test' } }),
      await grant(user('lister'), { clusters: { names: ['other'] } }),
    ];
    const ofUser = await grants.list(T, { subject: user('lister') });
    expect(ofUser.items.map(({ id }) => id)).toEqual(sorted([all, named, selected, ...others].map(({ id }) => id)));
    const ofShop = await grants.list(T, { subject: user('lister'), cluster: 'shop' });
    expect(ofShop).toEqual({ items: [all, named, selected].toSorted((a, b) => (a.id < b.id ? -1 : 1)) });
    await expect(grants.list(T, { cluster: 'nowhere' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const [first] = ofUser.items;
    expect((await grants.list(T, { subject: user('lister'), after: first!.id })).items).toEqual(ofUser.items.slice(1));
    expect(await grants.get(T, first!.id)).toEqual(first);
    const seen: string[] = [];
    for (let after: string | undefined, more = true; more;) {
      const page = await grants.list(T, { after });
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
      more = after !== undefined;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThan(256);
    expect(await grants.list('other', {})).toEqual({ items: [] });
    await expect(grants.get('other', first!.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(grants.delete(api, 'other', { id: first!.id, by: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are shown to who they are for, with the clusters that they mean', async () => {
    await register('seen', { team: 'blue' });
    const self = { user: 'corp:mia', kind: 'login' as const, subjectGroups: ['corp:blue'] };
    const own = await grant(user('corp:mia'), { clusters: { names: ['seen', 'gone'] }, notBefore: later(60_000) });
    const ofGroup = await grant({ kind: 'group', name: 'corp:blue' }, { clusters: { selector: 'team=blue' } });
    expect((await grants.of(T, self)).items.map(({ id }) => id)).toEqual(sorted([own.id, ofGroup.id]));
    expect(await grants.clustersOf(T, self)).toEqual({ names: ['seen'] });
    expect(await grants.clustersOf(T, { ...self, name: 'shop' })).toEqual({ names: [] });
    expect(await grants.clustersOf(T, { ...self, after: 'seen' })).toEqual({ names: [] });
    // Its own grant has not begun.
    expect(await grants.clustersOf(T, { ...self, subjectGroups: [] })).toEqual({ names: [] });
    expect(await grants.clustersOf('other', self)).toEqual({ names: [] });
  });

  it('make administrators and auditors, unless one denies it', async () => {
    const ben: Principal = {
      tenantId: T,
      tokenId: crypto.randomUUID(),
      user: 'corp:ben',
      groups: [],
      kind: 'login',
      subjectGroups: ['corp:ops'],
      administrator: false,
      auditor: false,
      expiresAt: null,
    };
    const roles = (principal: Principal = ben) => apiRolesOf(database.manager, principal, now());
    const is = async (principal: Principal = ben): Promise<boolean> =>
      (await roles(principal)).includes('administrator');
    expect([await is(), await is({ ...ben, kind: 'administrator' })]).toEqual([false, true]);
    await grant({ kind: 'group', name: 'corp:ops' }, { role: 'administrator' });
    expect([await is(), await is({ ...ben, subjectGroups: [] }), await is({ ...ben, tenantId: 'other' })]).toEqual([
      true,
      false,
      false,
    ]);
    // A name of a token is no name of a person.
    await grant({ kind: 'token', name: 'corp:ben' }, { role: 'administrator', effect: 'deny' });
    expect(await is()).toBe(true);
    await grant(user('corp:ben'), { role: 'administrator', effect: 'deny' });
    expect(await roles()).toEqual([]);
    await grant(user('corp:ben'), { role: 'auditor' });
    expect(await roles()).toEqual(['auditor']);
    // Doors have what was committed later, so they had their time for this.
    const last = await grant(user('corp:last'));
    await eventually(() => expect(idsAtDoors(user('corp:last'))).toEqual([last.id]));
    expect(idsAtDoors({ kind: 'group', name: 'corp:ops' })).toEqual([]);
  });
});

describe('access requests', () => {
  const asked = {
    clusters: { names: ['shop'] },
    role: 'admin',
    narrowing: {},
    seconds: 3_600,
    reason: 'down',
  } as const;
  const ask = (who: string): ReturnType<AccessRequests['create']> =>
    requests.create(api, T, { ...asked, clusters: { names: ['shop'] }, user: who });

  it('become a grant by somebody else, which ends by itself', async () => {
    const { id } = await ask('corp:joe');
    const decide = (by: string, approve = true): ReturnType<AccessRequests['decide']> =>
      requests.decide(api, T, { id, by, approve });
    await expect(decide('corp:joe')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await grants.list(T, { subject: user('corp:joe') })).toEqual({ items: [] });
    const decided = await decide('corp:sue');
    expect(await types(2)).toEqual(['access-request.approved.v1', 'grant.created.v1']);
    await eventually(() => expect(idsAtDoors(user('corp:joe'))).toEqual([decided.grantId]));
    expect(await grants.get(T, decided.grantId!)).toMatchObject({ createdBy: 'corp:sue', requestId: id });
    await expect(decide('corp:eve', false)).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(requests.decide(api, 'other', { id, by: 'x', approve: true })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(await requests.list(T, { user: 'corp:joe', state: 'approved' })).toEqual({ items: [decided] });
    await grants.delete(api, T, { id: decided.grantId!, by: 'admin' });
    await eventually(() => expect(idsAtDoors(user('corp:joe'))).toEqual([]));
    expect((await requests.list(T, { user: 'corp:joe' })).items).toEqual([{ ...decided, state: 'lapsed' }]);
  });

  it('are decided once, by whoever comes first', async () => {
    const { id } = await ask('corp:kim');
    const decisions = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((by) => requests.decide(api, T, { id, by, approve: true })),
    );
    expect(decisions.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await grants.list(T, { subject: user('corp:kim') })).items).toHaveLength(1);
  });

  it('are at most sixteen that wait, of one user', async () => {
    const made = await Promise.allSettled(Array.from({ length: 18 }, () => ask('corp:max')));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(16);
    const [first] = (await requests.list(T, { user: 'corp:max', state: 'pending' })).items;
    await requests.decide(api, T, { id: first!.id, by: 'corp:sue', approve: false });
    expect(await types(1)).toEqual(['access-request.rejected.v1']);
    await ask('corp:max');
    await expect(ask('corp:max')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await expect(ask('system:admin')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('time', () => {
  it('ends grants and requests, and later they are forgotten', async () => {
    const short = await grant(user('brief'), { expiresAt: later(60_000) });
    const { id: undecided } = await requests.create(api, T, {
      user: 'corp:lou',
      clusters: { all: true },
      role: 'view',
      narrowing: {},
      seconds: 600,
      reason: 'look',
    });
    await eventually(() => expect(idsAtDoors(user('brief'))).toEqual([short.id]));
    aheadMs += 2 * DAY_MS;
    expect((await requests.list(T, { user: 'corp:lou', state: 'lapsed' })).items).toHaveLength(1);
    await expect(requests.decide(api, T, { id: undecided, by: 'corp:sue', approve: true })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await using tending = tendGrants(runtime, lockdowns);
    await eventually(() => expect(idsAtDoors(user('brief'))).toEqual([]));
    await expect(grants.get(T, short.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const rows = (id: string): Promise<unknown[]> => database.query('select ended_by from grants where id = $1', [id]);
    expect(await rows(short.id)).toEqual([{ ended_by: null }]);
    await eventually(async () => {
      const told = await lastEvents(database, 1_000);
      expect(
        told.filter(({ type }) => type === 'dev.fairlead.grant.lapsed.v1').map(({ subject }) => subject),
      ).toContain(`grant/${short.id}`);
      expect(told.some(({ type }) => type === 'dev.fairlead.access-request.lapsed.v1')).toBe(true);
    });
    aheadMs += 89 * DAY_MS;
    tending.wake();
    aheadMs += 2 * DAY_MS;
    tending.wake();
    await eventually(async () => expect(await rows(short.id)).toEqual([]), { timeoutMs: 20_000 });
    await eventually(async () => expect((await requests.list(T, { user: 'corp:lou' })).items).toEqual([]));
  });
});

describe('lockdowns', () => {
  it('are told to doors by cluster, and for all', async () => {
    const { clusterId } = await register('vault');
    const begun = await lockdowns.begin(api, T, { cluster: 'vault', by: 'admin', reason: 'broken into' });
    const key = grantsKeys.lockdown(T, clusterId);
    const entry = { kind: 'lockdown', tenantId: T, clusterId, reason: 'broken into' };
    await eventually(() => expect(bucket.get(key)).toEqual(entry));
    expect(await lockdowns.begin(api, T, { cluster: 'vault', by: 'other', reason: 'again' })).toEqual(begun);
    await lockdowns.begin(api, T, { cluster: null, by: 'admin', reason: 'all out' });
    await eventually(() => expect(bucket.get(grantsKeys.lockdown(T, null))).toMatchObject({ clusterId: null }));
    expect((await lockdowns.list(T)).map(({ cluster }) => cluster)).toEqual(expect.arrayContaining([null, 'vault']));
    expect(await lockdowns.list('other')).toEqual([]);
    await lockdowns.lift(api, T, { cluster: null, by: 'admin' });
    await eventually(() => expect(bucket.get(grantsKeys.lockdown(T, null))).toBeUndefined());
    expect(bucket.get(key)).toEqual(entry);
    expect(await types(3)).toEqual(['lockdown.lifted.v1', 'lockdown.begun.v1', 'lockdown.begun.v1']);
    await expect(lockdowns.lift(api, T, { cluster: null, by: 'admin' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const unknown = lockdowns.begin(api, T, { cluster: 'nowhere', by: 'admin', reason: 'x' });
    await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('follow a name to the cluster that has it now', async () => {
    const before = clusters.get(T, 'vault').clusterId;
    await deleteKv(registration, BUCKETS.clusters, `${T}.${before}`);
    await eventually(() => expect(clusters.find(T, 'vault')).toBeUndefined());
    const { clusterId } = await register('vault');
    await lockdowns.followNames();
    await eventually(() => expect(bucket.get(grantsKeys.lockdown(T, clusterId))).toMatchObject({ clusterId }));
    await eventually(() => expect(bucket.get(grantsKeys.lockdown(T, before))).toBeUndefined());
    expect((await lockdowns.list(T)).map(({ cluster, reason }) => [cluster, reason])).toEqual([
      ['vault', 'broken into'],
    ]);
  });
});

describe('explaining', () => {
  it('tells how a door would decide', async () => {
    const explaining = new ExplainAccess(runtime, clusters, async () => ['corp:readers']);
    const ask = (change: object = {}): ReturnType<ExplainAccess['explain']> =>
      explaining.explain(T, {
        subject: user('corp:zoe'),
        cluster: 'shop',
        verb: 'get',
        resource: 'pods',
        namespace: 'shop',
        name: '',
        ...change,
      });
    expect(await ask()).toMatchObject({ allowed: false, grantId: null });
    const { id } = await grant({ kind: 'group', name: 'corp:readers' }, { clusters: { names: ['shop', 'vault'] } });
    expect(await ask()).toMatchObject({ allowed: true, grantId: id, groups: ['fairlead:view'] });
    expect(await ask({ subjectGroups: [] })).toMatchObject({ allowed: false });
    expect(await ask({ cluster: 'seen' })).toMatchObject({ allowed: false });
    const denial = await grant(user('corp:zoe'), { effect: 'deny', role: null, narrowing: { resources: ['secrets'] } });
    expect(await ask({ resource: 'secrets' })).toMatchObject({ allowed: false, grantId: denial.id });
    expect(await ask({ cluster: 'vault' })).toMatchObject({
      allowed: false,
      because: expect.stringContaining('locked'),
    });
    await expect(ask({ cluster: 'nowhere' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the service', () => {
  it('answers the api, for the tenant in the subject', async () => {
    await using started = startAccess(runtime, { nats: connection, logins: LOGIN_LIVES });
    const serving = { connection, queue: 'access', logger: silentLogger, registry: new Registry(), onForged: () => {} };
    await using _server = await serveRpc(started.module, serving);
    const client = createRpcClient(await nats.connect(api), api);
    const subject = user('corp:api');
    const input = {
      subject,
      clusters: { all: true as const },
      role: 'edit' as const,
      expiresAt: later(DAY_MS),
      reason: 'x',
    };
    const made = await client.call(accessRpc.createGrant, T, { ...NewGrant.parse(input), by: 'admin' });
    expect(await client.call(accessRpc.getGrant, T, { id: made.id })).toEqual(made);
    await expect(client.call(accessRpc.getGrant, 'other', { id: made.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(await client.call(accessRpc.listGrants, T, { subject })).toEqual({ items: [made] });
    const self = { user: 'corp:api', kind: 'login' as const, subjectGroups: [] };
    expect(await client.call(accessRpc.grantsOf, T, self)).toEqual({ items: [made] });
    expect((await client.call(accessRpc.clustersOf, T, self)).names).toContain('shop');
    const question = { subject, cluster: 'shop', verb: 'get', resource: 'pods', namespace: '', name: '' };
    expect(await client.call(accessRpc.explain, T, question)).toMatchObject({ allowed: true, grantId: made.id });
    await client.call(accessRpc.lockDown, T, { cluster: 'shop', by: 'admin', reason: 'x' });
    expect(await client.call(accessRpc.explain, T, question)).toMatchObject({ allowed: false });
    expect((await client.call(accessRpc.listLockdowns, T, {})).lockdowns.map(({ cluster }) => cluster)).toContain(
      'shop',
    );
    await client.call(accessRpc.liftLockdown, T, { cluster: 'shop', by: 'admin' });
    const wish = {
      user: 'corp:api',
      clusters: { names: ['shop'] },
      role: 'admin' as const,
      narrowing: {},
      seconds: 60,
    };
    const asked = await client.call(accessRpc.requestAccess, T, { ...wish, reason: 'x' });
    expect((await client.call(accessRpc.listAccessRequests, T, { user: 'corp:api' })).items).toEqual([asked]);
    const own = client.call(accessRpc.decideAccessRequest, T, { id: asked.id, by: 'corp:api', approve: true });
    await expect(own).rejects.toMatchObject({ code: 'FORBIDDEN' });
    const decided = await client.call(accessRpc.decideAccessRequest, T, { id: asked.id, by: 'admin', approve: true });
    expect(decided).toMatchObject({ state: 'approved' });
    await client.call(accessRpc.deleteGrant, T, { id: made.id, by: 'admin' });
    expect((await client.call(accessRpc.grantsOf, T, self)).items.map(({ id }) => id)).toEqual([decided.grantId]);
  });
});

describe('the bucket', () => {
  it('is put right when somebody else wrote to it', async () => {
    const { id } = await grant(user('kept'));
    const key = grantsKeys.subject(T, user('kept'));
    await eventually(() => expect(idsAtDoors(user('kept'))).toEqual([id]));
    const entry = bucket.get(key)!;
    const other = { ...entry, subject: user('forged') };
    await putKv(connection, BUCKETS.grants, key, other);
    await eventually(() => expect(bucket.get(key)).toEqual(entry));
    const stray = grantsKeys.subject(T, user('nobody'));
    await putKv(connection, BUCKETS.grants, stray, other);
    await deleteKv(connection, BUCKETS.grants, key);
    await eventually(() => expect([bucket.get(stray), bucket.get(key)]).toEqual([undefined, entry]));
  });

  it('keeps no key from its value because of one that is too large', async () => {
    const one = await grant(user('large'));
    // Its value has to be there before the tables' is too large, or there is none to keep.
    await eventually(() => expect(idsAtDoors(user('large'))).toEqual([one.id]));
    const namespaces = Array.from({ length: 60 }, (_, i) => `namespace-${i}`.padEnd(63, 'x'));
    await inTransaction(database, async (manager) => {
      for (let i = 0; i < 20; i += 1) {
        await insertGrant(manager, { ...one, id: crypto.randomUUID(), narrowing: { namespaces } });
      }
      await markChanged(manager, BUCKETS.grants, [grantsKeys.subject(T, user('large'))]);
    });
    const { id } = await grant(user('small'));
    await eventually(() => expect(idsAtDoors(user('small'))).toEqual([id]));
    await eventually(async () => expect(await database.query('select * from changed_keys')).toEqual([]));
    expect(idsAtDoors(user('large'))).toEqual([one.id]);
    await database.query('update grants set ended_at = now() where subject_name = $1', ['large']);
    await inTransaction(database, (manager) =>
      markChanged(manager, BUCKETS.grants, [grantsKeys.subject(T, user('large'))]),
    );
    projection.poke();
    await eventually(() => expect(idsAtDoors(user('large'))).toEqual([]));
  });

  it('has what another instance committed before it ended', async () => {
    const orphan = new Grants({ ...runtime, onCommitted: () => undefined }, clusters, noQuotas);
    const input = { subject: user('orphan'), clusters: { all: true }, role: 'view', expiresAt: null, reason: 'x' };
    const { id } = await orphan.create(api, T, { ...NewGrant.parse(input), by: 'admin' });
    await eventually(() => expect(idsAtDoors(user('orphan'))).toEqual([id]));
  });

  it('is written again when it was lost, and by an instance that begins', async () => {
    const before = new Map(bucket.entries());
    expect(before.size).toBeGreaterThan(0);
    const admin = await nats.connect(operator);
    const fresh = async (): Promise<void> => {
      await (await jetstreamManager(admin)).streams.delete(`KV_${BUCKETS.grants}`);
      await provisionJetStream(admin);
    };
    const contents = async (): Promise<Map<string, GrantsEntry>> => {
      const snapshot = watchBucket(reader, BUCKETS.grants, GrantsEntry);
      await snapshot.loaded;
      await snapshot.close();
      return new Map(snapshot.entries());
    };
    // As doors follow it: a grant must not be there without the denial that takes it back.
    const gone: string[] = [];
    const onChange = (key: string, entry: unknown): void => void (entry === undefined && gone.push(key));
    const atDoors = watchBucket(reader, BUCKETS.grants, GrantsEntry, { completeKey: grantsKeys.complete, onChange });
    await atDoors.loaded;
    await fresh();
    expect((await contents()).size).toBe(0);
    await eventually(async () => expect(await contents()).toEqual(before), { timeoutMs: 60_000 });
    await projection[Symbol.asyncDispose]();
    await fresh();
    expect((await contents()).size).toBe(0);
    projection = new KeyedProjection({ database, nats: connection, logger: silentLogger, bucket: GRANTS_BUCKET });
    await eventually(async () => expect(await contents()).toEqual(before), { timeoutMs: 60_000 });
    await eventually(() => expect(projection.synced).toBe(true));
    const syncedMs = Date.now();
    await eventually(() => expect(atDoors.lastSyncedAtMs).toBeGreaterThan(syncedMs), { timeoutMs: 60_000 });
    expect([new Map(atDoors.entries()), gone]).toEqual([before, []]);
    await atDoors.close();
  });

  it('hears after NATS was away what was committed meanwhile', async () => {
    nats.server.kill('SIGKILL');
    const { id } = await grant(user('meanwhile'));
    await nats.server.restart();
    await eventually(() => expect(idsAtDoors(user('meanwhile'))).toEqual([id]), { timeoutMs: 60_000 });
    // The value is there before the transaction that put it has ended.
    await eventually(async () => expect(await database.query('select * from changed_keys')).toEqual([]));
  });
});
