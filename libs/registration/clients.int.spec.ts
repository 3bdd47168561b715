import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { BUCKETS, ClientEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Projection } from '@fairlead/events';
import { putKv, watchBucket } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Clients, Clusters, REGISTRATION_BUCKETS, REGISTRATION_MIGRATIONS, type Runtime } from './index.js';
import {
  api,
  gateway,
  lastEvents,
  neverSeen,
  newCsr,
  registrationFixture,
  source,
  type RegistrationFixture,
} from './testing/registration-fixture.js';

let fixture: RegistrationFixture;
let nats: SecuredNats;
let connection: NatsConnection;
let database: DataSource;
let projection: Projection;
let clusters: Clusters;
let clients: Clients;
let csr: string;
/** Stands for the keys service: what it was asked for, and whether it is away. */
const signed: string[] = [];
let keysAway = false;
let notAfter = '';

beforeAll(async () => {
  fixture = await registrationFixture();
  nats = await startSecuredNats(fixture.scratch.path);
  connection = await nats.connect(source);
  csr = await newCsr();
});
afterAll(async () => {
  await projection?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  keysAway = false;
  signed.length = 0;
  notAfter = new Date(Date.now() + 86_400_000).toISOString();
});

function build(): void {
  projection = new Projection({ database, nats: connection, logger: silentLogger, buckets: REGISTRATION_BUCKETS });
  const now = (): Date => new Date();
  const runtime: Runtime = { database, source, logger: silentLogger, onCommitted: () => projection.poke(), now };
  clusters = new Clusters(runtime, neverSeen, async () => undefined);
  clients = new Clients(runtime, async (_tenant, { clientId }) => {
    if (keysAway) throw new FairleadError('UNAVAILABLE', 'no keys service is running');
    signed.push(clientId);
    const serial = randomBytes(8).toString('hex');
    return { chain: ['leaf', 'issuing', 'root'], roots: ['root'], serial, notAfter, trustVersion: 0 };
  });
}

const cluster = (name: string, targets: string[] = []): ReturnType<Clusters['create']> =>
  clusters.create(api, 'default', {
    name,
    labels: {},
    links: 1,
    targets,
    egress: [],
    gitops: false,
    manifestValues: {},
  });

const client = (name: string, names: string[] | null): ReturnType<Clients['create']> =>
  clients.create(api, 'default', { name, clusters: names, csr });

async function events(limit: number): Promise<string[]> {
  return (await lastEvents(database, limit)).map(({ type }) => type.slice('dev.fairlead.'.length));
}

it('clusters from before there were targets open nothing', async () => {
  const old = await fixture.open(REGISTRATION_MIGRATIONS.slice(0, 1));
  await old.query(
    `insert into clusters (id, tenant_id, name, labels, links, generation) values ($1, 'default', 'old', '{}', 1, 0)`,
    [crypto.randomUUID()],
  );
  await old.destroy();
  database = await fixture.open();
  build();
  expect(await clusters.get('default', 'old')).toMatchObject({ targets: [] });
  await cluster('new', ['10.0.0.0/8:10250', '*.shop.svc:443']);
  expect(await clusters.get('default', 'new')).toMatchObject({ targets: ['10.0.0.0/8:10250', '*.shop.svc:443'] });
});

describe('clients', () => {
  it('are registered, certified, listed and deleted', async () => {
    await cluster('a');
    await cluster('b');
    const made = await client('prometheus', ['b', 'a']);
    expect(made).toMatchObject({
      client: { name: 'prometheus', tenantId: 'default', clusters: ['a', 'b'], notAfter },
      chain: ['leaf', 'issuing', 'root'],
      roots: ['root'],
    });
    expect(signed).toEqual([made.client.id]);
    expect(await events(2)).toEqual(['client.certified.v1', 'client.created.v1']);
    expect(await clients.list('default')).toEqual({ clients: [made.client] });
    expect(await clients.list('default', 'prometheus')).toEqual({ clients: [] });
    await clients.delete(api, 'default', 'prometheus');
    expect(await events(1)).toEqual(['client.deleted.v1']);
    await expect(clients.delete(api, 'default', 'prometheus')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('get another certificate for the same clusters, and no other clusters', async () => {
    const { client: first } = await client('renewed', ['a', 'b']);
    notAfter = new Date(Date.now() + 2 * 86_400_000).toISOString();
    expect((await client('renewed', ['b', 'a'])).client).toEqual({ ...first, notAfter });
    expect(await events(1)).toEqual(['client.certified.v1']);
    for (const other of [['a'], null]) {
      await expect(client('renewed', other)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    }
    expect(signed).toEqual([first.id, first.id]);
  });

  it('are one, whoever asks at the same time', async () => {
    const made = await Promise.all([1, 2, 3, 4].map(() => client('together', null)));
    expect(new Set(made.map(({ client: { id } }) => id)).size).toBe(1);
    expect(made[0]!.client.clusters).toBeNull();
  });

  it('are refused for an unknown cluster, an unknown tenant and a bad request', async () => {
    await expect(client('x', ['a', 'nowhere'])).rejects.toThrow(/no cluster named nowhere/);
    await expect(clients.create(api, 'nobody', { name: 'x', clusters: null, csr })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(clients.create(api, 'default', { name: 'x', clusters: null, csr: 'AAAA' })).rejects.toMatchObject({
      code: 'CSR_INVALID',
    });
    expect(signed).toEqual([]);
    await expect(clients.delete(api, 'default', 'x')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('belong to their tenant, and so do the clusters they name', async () => {
    await database.query(`insert into tenants (id) values ('other') on conflict do nothing`);
    await expect(clients.create(api, 'other', { name: 'x', clusters: ['a'], csr })).rejects.toThrow(
      /no cluster named a/,
    );
    await client('mine', null);
    await expect(clients.delete(api, 'other', 'mine')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await clients.list('other')).toEqual({ clients: [] });
  });

  it('may ask again after the keys service was away', async () => {
    keysAway = true;
    await expect(client('patient', ['a'])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect((await clients.list('default')).clients.find(({ name }) => name === 'patient')).toMatchObject({
      notAfter: null,
    });
    keysAway = false;
    expect((await client('patient', ['a'])).client).toMatchObject({ notAfter });
  });

  it('lose a cluster that is deleted, and never gain all by it', async () => {
    await cluster('gone');
    await client('one', ['gone']);
    await client('two', ['a', 'gone']);
    await clusters.delete(api, 'default', 'gone');
    const { clients: all } = await clients.list('default');
    const shown = new Map(all.map(({ name, clusters: names }) => [name, names]));
    expect([shown.get('one'), shown.get('two'), shown.get('mine')]).toEqual([[], ['a'], null]);
  });

  it('are shown to gateways; strays are removed', async () => {
    const reader = await nats.connect(gateway);
    const known = watchBucket(reader, BUCKETS.clients, ClientEntry);
    await cluster('seen');
    const { client: made } = await client('visible', ['seen']);
    const { id: seen } = await clusters.get('default', 'seen');
    const key = `default.${made.id}`;
    const entry = { tenantId: 'default', clientId: made.id, name: 'visible', clusterIds: [seen] };
    await eventually(() => expect(known.get(key)).toEqual(entry));
    await putKv(connection, BUCKETS.clients, key, { ...entry, clusterIds: null });
    await eventually(() => expect(known.get(key)).toEqual(entry));
    await clusters.delete(api, 'default', 'seen');
    await eventually(() => expect(known.get(key)).toEqual({ ...entry, clusterIds: [] }));
    const stray = { ...entry, clientId: crypto.randomUUID(), clusterIds: null };
    await putKv(connection, BUCKETS.clients, `default.${stray.clientId}`, stray);
    await eventually(() => expect(known.get(`default.${stray.clientId}`)).toBeUndefined());
    await clients.delete(api, 'default', 'visible');
    await eventually(() => expect(known.get(key)).toBeUndefined());
    await known.close();
  });
});
