import { DEFAULT_TENANT, TenantQuotas } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Clients, Clusters, Tenants, type Runtime } from './index.js';
import { api, lastEvents, neverSeen, newCsr, registrationFixture, source } from './testing/registration-fixture.js';
import { ADOPTED } from './store/cluster-store.js';

const BY = 'admin';
const owned = new AsyncDisposableStack();
let database: DataSource;
let tenants: Tenants;
let clusters: Clusters;
let clients: Clients;
let csr: string;

beforeAll(async () => {
  const fixture = owned.use(await registrationFixture());
  database = await fixture.open();
  const now = (): Date => new Date();
  const runtime: Runtime = { database, source, logger: silentLogger, onCommitted: () => undefined, now };
  tenants = new Tenants(runtime);
  clusters = new Clusters(runtime, neverSeen, async () => undefined);
  const signed = { chain: ['leaf'], roots: ['root'], serial: '01', notAfter: now().toISOString(), trustVersion: 0 };
  clients = new Clients(runtime, async () => signed);
  csr = await newCsr();
});
afterAll(() => owned.disposeAsync());

const quotas = (given: Partial<TenantQuotas> = {}): TenantQuotas => TenantQuotas.parse(given);
const create = (name: string, given?: Partial<TenantQuotas>) => tenants.create(api, BY, name, quotas(given));
const cluster = (tenant: string, name: string) =>
  clusters.create(api, tenant, {
    name,
    ...ADOPTED,
    links: 1,
  });
const client = (tenant: string, name: string) => clients.create(api, tenant, { name, clusters: null, csr });
const statuses = (settled: PromiseSettledResult<unknown>[]): string[] => settled.map(({ status }) => status).toSorted();
const full = { code: 'QUOTA_EXCEEDED' };

describe('a tenant', () => {
  it('is made, listed in pages, shown with what it has, and told of', async () => {
    const made = await create('shop', { clusters: 5 });
    expect(made).toMatchObject({ name: 'shop', quotas: { clusters: 5, clients: null }, clusters: 0, clients: 0 });
    const [event] = await lastEvents(database, 1);
    expect(event).toMatchObject({
      type: 'dev.fairlead.tenant.created.v1',
      data: { tenantId: 'shop', quotas: { clusters: 5 }, actor: { kind: 'user', id: BY } },
    });
    await cluster('shop', 'shop-1');
    await client('shop', 'scraper');
    expect(await tenants.get('shop')).toMatchObject({ clusters: 1, clients: 1 });
    const { tenants: all } = await tenants.list();
    expect(all.map(({ name }) => name)).toEqual([DEFAULT_TENANT, 'shop']);
    expect((await tenants.list('default')).tenants.map(({ name }) => name)).toEqual(['shop']);
    await expect(create('shop')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(tenants.get('nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('does not see, change or delete what is another’s, though it cannot have its cluster’s name', async () => {
    await create('bank');
    await expect(clusters.get('bank', 'shop-1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(clusters.delete(api, 'bank', 'shop-1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(cluster('bank', 'shop-1')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    // Names of clients are each tenant's own.
    expect((await client('bank', 'scraper')).client).toMatchObject({ tenantId: 'bank' });
    expect((await clients.list('shop')).clients).toHaveLength(1);
  });
});

describe('a quota', () => {
  it('holds for whoever comes at the same moment, and has room again when something goes', async () => {
    await create('full', { clusters: 2, clients: 1 });
    const names = [1, 2, 3, 4].map((n) => `full-${n}`);
    const made = await Promise.allSettled(names.map((name) => cluster('full', name)));
    expect(statuses(made)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    await expect(cluster('full', 'one-more')).rejects.toMatchObject(full);
    const twoClients = await Promise.allSettled([client('full', 'a'), client('full', 'b')]);
    expect(statuses(twoClients)).toEqual(['fulfilled', 'rejected']);
    const [kept] = (await clients.list('full')).clients;
    // A renewal adds nothing.
    await client('full', kept!.name);
    const [gone] = (await clusters.list('full')).clusters;
    await clusters.delete(api, 'full', gone!.name);
    await cluster('full', 'one-more');
  });

  it('that is lowered takes nothing away, and is told of once', async () => {
    const lowered = await tenants.setQuotas(api, { by: BY }, 'full', quotas({ clusters: 0 }));
    expect(lowered).toMatchObject({ quotas: { clusters: 0, clients: null }, clusters: 2 });
    const before = await lastEvents(database, 1);
    await tenants.setQuotas(api, { by: BY }, 'full', quotas({ clusters: 0 }));
    expect(await lastEvents(database, 1)).toEqual(before);
    await client('full', 'c');
    await expect(cluster('full', 'never')).rejects.toMatchObject(full);
    await expect(tenants.setQuotas(api, { by: BY }, 'nowhere', quotas())).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const ofDefault = tenants.setQuotas(api, { by: BY }, DEFAULT_TENANT, quotas({ clusters: 1 }));
    await expect(ofDefault).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

it('is changed only as long as it is what somebody has seen, if that is said', async () => {
  const { revision } = await create('seen', { clusters: 1 });
  const changed = await tenants.setQuotas(api, { by: BY, ifRevision: revision }, 'seen', quotas({ clusters: 2 }));
  expect(changed.revision).not.toBe(revision);
  const late = tenants.setQuotas(api, { by: BY, ifRevision: revision }, 'seen', quotas({ clusters: 3 }));
  await expect(late).rejects.toMatchObject({ code: 'REVISION_CONFLICT' });
  expect(await tenants.get('seen')).toEqual(changed);
});

it('a cluster is changed and deleted only as long as it is what somebody has seen, if that is said', async () => {
  const { revision } = await cluster('default', 'seen');
  const labelled = await clusters.update(api, 'default', 'seen', { labels: { a: 'b' }, ifRevision: revision });
  expect(labelled.revision).not.toBe(revision);
  const conflict = { code: 'REVISION_CONFLICT' };
  const change = { links: 2, ifRevision: revision };
  await expect(clusters.update(api, 'default', 'seen', change)).rejects.toMatchObject(conflict);
  const asSeen = { ifRevision: revision };
  await expect(clusters.delete(api, 'default', 'seen', asSeen)).rejects.toMatchObject(conflict);
  expect(await clusters.get('default', 'seen')).toMatchObject({ links: 1, labels: { a: 'b' } });
  await clusters.delete(api, 'default', 'seen', { ifRevision: labelled.revision });
});

describe('deleting a tenant', () => {
  it('waits until it has nothing, and then nothing is added, and its name is nobody’s again', async () => {
    await create('gone');
    await cluster('gone', 'gone-1');
    await expect(tenants.delete(api, BY, 'gone')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('clusters (1)') as string,
    });
    await clusters.delete(api, 'gone', 'gone-1');
    await tenants.delete(api, BY, 'gone');
    await tenants.delete(api, BY, 'gone');
    const told = (await lastEvents(database, 20)).filter(({ type }) => type === 'dev.fairlead.tenant.deleted.v1');
    expect(told).toHaveLength(1);
    const missing = { code: 'NOT_FOUND' };
    await expect(tenants.get('gone')).rejects.toMatchObject(missing);
    await expect(cluster('gone', 'gone-2')).rejects.toMatchObject(missing);
    await expect(client('gone', 'x')).rejects.toMatchObject(missing);
    await expect(tenants.setQuotas(api, { by: BY }, 'gone', quotas())).rejects.toMatchObject(missing);
    await expect(create('gone')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect((await tenants.list()).tenants.map(({ name }) => name)).not.toContain('gone');
  });

  it('or something is in it: never both', async () => {
    for (const name of ['race-1', 'race-2', 'race-3', 'race-4']) {
      await create(name);
      const [made, deleted] = await Promise.allSettled([cluster(name, `${name}-c`), tenants.delete(api, BY, name)]);
      expect([made?.status, deleted?.status]).toContain('rejected');
      expect([made?.status, deleted?.status]).toContain('fulfilled');
    }
  });

  it('is refused for the default one, and for one that never was', async () => {
    await expect(tenants.delete(api, BY, DEFAULT_TENANT)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(tenants.delete(api, BY, 'never')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
