import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import { BUCKETS, ClusterEntry, Facts, routeKeys, type ClusterFilter, type TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { Envelope, Projection } from '@fairlead/events';
import { putKv, watchBucket } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { proveEnrolment, spkiPin } from '@fairlead/pki';
import { eventually, testAuthority, testTrustBundle, type TestAuthority } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ApprovalPolicies,
  ApprovalWebhook,
  Clusters,
  EnrolmentRequests,
  Enrolments,
  ImportLinks,
  LinkProblems,
  ReportedFacts,
  REGISTRATION_BUCKETS,
  reportDuplicate,
  watchPresence,
  type Runtime,
  type WatchedPresence,
} from './index.js';
import {
  api,
  facts,
  gateway,
  linkOptions,
  mint as mintBy,
  newCsr,
  registrationFixture,
  signerOf,
  source,
  tokenIn,
  type RegistrationFixture,
} from './testing/registration-fixture.js';
import { ADOPTED } from './store/cluster-store.js';

let fixture: RegistrationFixture;
let nats: SecuredNats;
let connection: NatsConnection;
let database: DataSource;
let authority: TestAuthority;
let projection: Projection;
let presence: WatchedPresence;
let reportedFacts: ReportedFacts;
let clusters: Clusters;
let links: ImportLinks;
let enrolments: Enrolments;
let runtime: Runtime;
let aheadMs = 0;
/** Stands for the keys service being away. */
let whileRevoking: (() => Promise<void>) | undefined;
let keysAway = false;
/** What the keys service was asked to revoke: cluster to generation. */
const revoked = new Map<string, number>();
/** Of these clusters the keys service was told that nobody enrols again. */
const gone = new Set<string>();

beforeAll(async () => {
  authority = await testAuthority();
  fixture = await registrationFixture();
  nats = await startSecuredNats(fixture.scratch.path);
  connection = await nats.connect(source);
  database = await fixture.open();
  projection = new Projection({ database, nats: connection, logger: silentLogger, buckets: REGISTRATION_BUCKETS });
  presence = watchPresence(connection, silentLogger);
  build();
});
afterAll(async () => {
  await projection?.[Symbol.asyncDispose]();
  await presence?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  aheadMs = 0;
  keysAway = false;
});

function build(): void {
  runtime = {
    database,
    source,
    logger: silentLogger,
    onCommitted: () => projection.poke(),
    now: () => new Date(Date.now() + aheadMs),
  };
  const away = (): void => {
    if (keysAway) throw new FairleadError('UNAVAILABLE', 'no keys service is running');
  };
  clusters = new Clusters(runtime, presence.presenceOf, async (_tenant, asked) => {
    away();
    revoked.set(asked.clusterId, asked.throughGeneration);
    if (asked.clusterDeleted) gone.add(asked.clusterId);
    const once = whileRevoking;
    whileRevoking = undefined;
    await once?.();
  });
  links = new ImportLinks(runtime, {
    ...linkOptions(authority),
    trustBundle: async (): Promise<TrustBundle> => {
      away();
      return testTrustBundle(authority);
    },
  });
  const requests = new EnrolmentRequests(runtime);
  const policies = new ApprovalPolicies(runtime, { policy: 'token', webhookConfigured: false, insecureAllowed: false });
  const webhook = new ApprovalWebhook(runtime, policies, requests, null);
  enrolments = new Enrolments(
    runtime,
    { policies, requests, webhook, linkProblems: new LinkProblems(runtime) },
    async (tenantId, request) => {
      away();
      return signerOf(authority)(tenantId, request);
    },
  );
  reportedFacts = new ReportedFacts(runtime);
}

let count = 0;
async function newCluster(): Promise<{ id: string; name: string }> {
  count += 1;
  return clusters.create(api, 'default', {
    name: `c${count}`,
    labels: { env: 'test' },
    links: 2,
    targets: [],
    egress: [],
    gitops: false,
    manifestValues: {},
  });
}

/** The bootstrap token out of a manifest. */
const mint = (name: string): ReturnType<typeof mintBy> => mintBy(links, name);

type Shown = { tokenId: string } & ({ secret: string } | { proof: string });

/** What an agent sends in the place of the secret: good for this request. */
function proven({ tokenId, secret }: { tokenId: string; secret: string }, request: string): Shown {
  const proof = proveEnrolment({ id: tokenId, secret: Buffer.from(secret, 'base64') }, Buffer.from(request, 'base64'));
  return { tokenId, proof: Buffer.from(proof).toString('base64') };
}

async function enrol(token: Shown, request: string): ReturnType<Enrolments['enrol']> {
  return enrolments.enrol(gateway, { ...token, csr: request, facts, remoteAddress: '127.0.0.1' });
}

async function lastEvents(limit: number): Promise<string[]> {
  const rows = (await database.query('select body from outbox order by id desc limit $1', [limit])) as {
    body: string;
  }[];
  return rows.map(({ body }) => {
    const { type, data } = Envelope.parse(JSON.parse(body));
    return `${type.slice('dev.fairlead.'.length)} ${String(data['reason'])}`;
  });
}

describe('a cluster that is cut off', () => {
  it('loses unused tokens and links as well, and comes back with a new manifest', async () => {
    const { id, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    const unused = await mint(name);
    const { code } = await links.create(api, 'default', name);
    const shown = await clusters.revoke(api, 'default', name, 'its laptop was stolen');
    expect([shown.id, revoked.get(id), gone.has(id)]).toEqual([id, 1, false]);
    expect(await lastEvents(1)).toEqual(['cluster.revoked.v1 OK']);
    await expect(enrol(unused, await newCsr())).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    await expect(links.redeem(api, code)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await enrol(await mint(name), await newCsr())).toMatchObject({ clusterId: id, generation: 2 });
  });

  it('can be asked for again when the keys service was away', async () => {
    const { id, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    keysAway = true;
    await expect(clusters.revoke(api, 'default', name, 'lost')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    keysAway = false;
    await clusters.revoke(api, 'default', name, 'lost');
    expect(revoked.get(id)).toBe(1);
  });

  it('is one of the tenant that asks', async () => {
    const { name } = await newCluster();
    await expect(clusters.revoke(api, 'other', name, 'x')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(clusters.revoke(api, 'default', 'no-such', 'x')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('what an agent says of its cluster', () => {
  const said = (total: number): Facts =>
    Facts.parse({ ...facts, distribution: 'k3s', nodes: { total, ready: 1 }, capabilities: ['link:facts'] });
  const eventsOf = async (clusterId: string): Promise<{ type: string; data: Record<string, unknown> }[]> => {
    const rows = (await database.query('select body from outbox where body like $1 order by id', [
      `%cluster/${clusterId}%`,
    ])) as { body: string }[];
    return rows.map(({ body }) => Envelope.parse(JSON.parse(body)) as never);
  };

  it('is unknown before the first enrolment, and in its event only if it is new', async () => {
    const { id, name } = await newCluster();
    expect((await clusters.get('default', name)).facts).toBeNull();
    await enrol(await mint(name), await newCsr());
    expect((await clusters.get('default', name)).facts).toEqual(facts);
    await enrol(await mint(name), await newCsr());
    const enrolments = (await eventsOf(id)).filter(({ type }) => type.endsWith('enrolment.succeeded.v1'));
    expect(enrolments.map(({ data }) => data['facts'])).toEqual([facts, undefined]);
  });

  it('is kept and told when it changes, however many replicas repeat it', async () => {
    const { id: clusterId, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    const report = { clusterId, generation: 1, facts: said(3) };
    await Promise.all([reportedFacts.report(gateway, [report]), reportedFacts.report(gateway, [report])]);
    await reportedFacts.report(gateway, [report]);
    expect((await clusters.get('default', name)).facts).toEqual(said(3));
    const changes = (await eventsOf(clusterId)).filter(({ type }) => type.endsWith('facts-changed.v1'));
    expect(changes.map(({ data }) => data)).toMatchObject([
      { clusterId, name, facts: said(3), actor: { kind: 'gateway', id: 'gateway-a' }, tenantId: 'default' },
    ]);
  });

  it('counts for nothing from another enrolment, or of a cluster that is gone', async () => {
    const { id: clusterId, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    await enrol(await mint(name), await newCsr());
    const gone = { clusterId: randomUUID(), generation: 1, facts: said(9) };
    await reportedFacts.report(gateway, [gone, { clusterId, generation: 1, facts: said(1) }]);
    await reportedFacts.report(gateway, [{ clusterId, generation: 3, facts: said(2) }]);
    expect((await clusters.get('default', name)).facts).toEqual(facts);
    expect((await eventsOf(clusterId)).filter(({ type }) => type.endsWith('facts-changed.v1'))).toEqual([]);
  });

  it('is shown as far as it was known to the release that stored it', async () => {
    const { id, name } = await newCluster();
    const old = { agentVersion: '0.0.9', kubernetesVersion: 'v1.30.0', platform: 'linux/x64' };
    await database.query('update clusters set facts = $2 where id = $1', [id, old]);
    const unsaid = { distribution: '', provider: '', nodes: null, capabilities: [] };
    expect((await clusters.get('default', name)).facts).toEqual({ ...old, ...unsaid });
  });
});

describe('clusters', () => {
  it('are created, shown, listed and unique by name', async () => {
    const created = await newCluster();
    expect(await clusters.get('default', created.name)).toMatchObject({
      id: created.id,
      labels: { env: 'test' },
      generation: 0,
      enrolledAt: null,
      presence: { state: 'never', replicas: [], since: null, agents: [], duplicate: null },
    });
    const again = clusters.create(api, 'default', {
      name: created.name,
      ...ADOPTED,
      links: 1,
    });
    await expect(again).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect((await clusters.list('default')).clusters.map(({ name }) => name)).toContain(created.name);
    expect(await lastEvents(1)).toEqual(['cluster.created.v1 OK']);
  });

  it('get by a new manifest what they were created without, and keep what they are', async () => {
    const { id, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    const manifest = async (): Promise<string> => {
      const { code } = await links.create(api, 'default', name);
      return links.redeem(api, code);
    };
    expect(await manifest()).not.toMatch(/fairlead-installer|fairlead-egress/);
    const egress = ['2222=git.example.com:22'];
    const asked = { ...api, user: 'token:auditor' };
    expect(await clusters.update(asked, 'default', name, { gitops: true, egress })).toMatchObject({
      id,
      generation: 1,
      labels: { env: 'test' },
      links: 2,
      gitops: true,
      egress,
    });
    expect(await lastEvents(1)).toEqual(['cluster.changed.v1 OK']);
    const [row] = (await database.query('select body from outbox order by id desc limit 1')) as [{ body: string }];
    const actor = { kind: 'user', id: 'token:auditor' };
    expect(JSON.parse(row.body)).toMatchObject({ data: { name, actor, links: 2, targets: [], egress, gitops: true } });
    const changed = await manifest();
    for (const part of ['fairlead-installer', 'fairlead-egress', 'FAIRLEAD_EGRESS']) expect(changed).toContain(part);
    await clusters.update(api, 'default', name, { egress: [], gitops: false, links: undefined });
    expect(await manifest()).not.toMatch(/fairlead-installer|fairlead-egress/);
    await clusters.update(api, 'default', name, { egress: [] });
    expect(await lastEvents(1)).not.toEqual(['cluster.changed.v1 OK']);
    for (const [tenantId, of] of [
      ['other', name],
      ['default', 'no-such'],
    ] as const) {
      await expect(clusters.update(api, tenantId, of, { links: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('keep how their pods are to run for every manifest to come, until they are told otherwise', async () => {
    const { name } = await newCluster();
    const manifest = async (): Promise<string> => links.redeem(api, (await links.create(api, 'default', name)).code);
    const before = await manifest();
    const manifestValues = {
      namespace: 'edge',
      nodeSelector: { pool: 'infra', a: 'b' },
      podAnnotations: { note: 'ü\n' },
    };
    const changed = await clusters.update(api, 'default', name, { manifestValues });
    expect(changed).toMatchObject({ manifestValues });
    const [row] = (await database.query('select body from outbox order by id desc limit 1')) as [{ body: string }];
    expect(JSON.parse(row.body)).toMatchObject({
      data: { name, manifestValues: ['namespace', 'nodeSelector', 'podAnnotations'] },
    });
    for (const text of [await manifest(), await links.installerManifest('default', name)]) {
      expect(text).toMatch(/pool: infra/);
      expect(text).not.toContain('fairlead-system');
    }
    await clusters.update(api, 'default', name, { links: 1 });
    expect(await clusters.get('default', name)).toMatchObject({ manifestValues, links: 1 });
    await clusters.update(api, 'default', name, { manifestValues: {}, links: 2 });
    const secrets = /token: .*|bootstrap-token-sha256: .*/g;
    expect((await manifest()).replaceAll(secrets, '')).toBe(before.replaceAll(secrets, ''));
  });

  it('have labels that change at once, also where the change is told, and by which they are found', async () => {
    await database.query(`insert into tenants (id) values ('found') on conflict do nothing`);
    const rest = { links: 1, targets: [], egress: [], gitops: false, manifestValues: {} };
    for (const [name, zone] of Object.entries({ 'shop-a': 'eu', 'shop-b': 'us', 'edge-a': 'eu' })) {
      await clusters.create(api, 'found', { name, labels: { zone }, ...rest });
    }
    const changed = await clusters.update(api, 'found', 'shop-a', { labels: { zone: null, stage: 'prod' } });
    expect(changed.labels).toEqual({ stage: 'prod' });
    const [row] = (await database.query('select body from outbox order by id desc limit 1')) as [{ body: string }];
    expect(JSON.parse(row.body)).toMatchObject({ data: { name: 'shop-a', labels: { stage: 'prod' } } });
    const [projected] = REGISTRATION_BUCKETS;
    const entries = await projected?.rows(database.manager);
    expect(entries?.get(`found.${changed.id}`)).toMatchObject({ labels: { stage: 'prod' } });
    const found = async (filter: ClusterFilter & { names?: string[] }): Promise<string[]> =>
      (await clusters.list('found', filter)).clusters.map(({ name }) => name);
    expect(await found({ selector: 'zone=eu' })).toEqual(['edge-a']);
    expect(await found({ selector: 'zone!=eu' })).toEqual(['shop-a', 'shop-b']);
    expect(await found({ name: 'shop-*', status: 'never' })).toEqual(['shop-a', 'shop-b']);
    expect(await found({ selector: 'zone!=eu', names: ['shop-b', 'edge-a', 'nowhere'] })).toEqual(['shop-b']);
    expect(await found({ names: [] })).toEqual([]);
    expect(await found({ status: 'online' })).toEqual([]);
  });

  it('have no way out in the network of a node', async () => {
    const { name } = await newCluster();
    const manifestValues = { hostNetwork: true };
    await clusters.update(api, 'default', name, { manifestValues });
    const refused = {
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('not together with egress') as string,
    };
    const egress = ['2222=git.example.com:22'];
    await expect(clusters.update(api, 'default', name, { egress })).rejects.toMatchObject(refused);
    await clusters.update(api, 'default', name, { egress, manifestValues: {} });
    await expect(clusters.update(api, 'default', name, { manifestValues })).rejects.toMatchObject(refused);
    const both = { name: `${name}-2`, labels: {}, links: 1, targets: [], egress, gitops: false, manifestValues };
    await expect(clusters.create(api, 'default', both)).rejects.toMatchObject(refused);
  });

  it('are seen by their own tenant only', async () => {
    const { name } = await newCluster();
    await database.query(`insert into tenants (id) values ('other') on conflict do nothing`);
    await expect(clusters.get('other', name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(clusters.delete(api, 'other', name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(links.create(api, 'other', name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await clusters.list('other')).toEqual({ clusters: [] });
    const noTenant = clusters.create(api, 'nobody', {
      name: 'x',
      ...ADOPTED,
      links: 1,
    });
    await expect(noTenant).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are listed in pages that fit one answer', async () => {
    await database.query(`insert into tenants (id) values ('big') on conflict do nothing`);
    await database.query(
      `insert into clusters (id, tenant_id, name, labels, links, generation)
       select gen_random_uuid(), 'big', 'big-' || lpad(n::text, 5, '0'), $1, 1, 0 from generate_series(1, 1500) n`,
      [{ note: 'x'.repeat(63) }],
    );
    const names: string[] = [];
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: Awaited<ReturnType<Clusters['list']>> = await clusters.list('big', { after });
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(200 * 1024);
      names.push(...page.clusters.map(({ name }) => name));
      after = page.next;
    }
    expect([names.length, new Set(names).size]).toEqual([1_500, 1_500]);
    // The first thousand has none: the page is empty, and says where to go on.
    const none = await clusters.list('big', { name: '*-01234' });
    expect(none).toEqual({ clusters: [], next: 'big-01000' });
    const { clusters: found } = await clusters.list('big', { name: '*-01234', after: 'big-01000' });
    expect(found.map(({ name }) => name)).toEqual(['big-01234']);
    await database.query(`delete from clusters where tenant_id = 'big'`);
  });

  it('take their certificates with them, or stay while the keys service is away', async () => {
    const { id, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    keysAway = true;
    await expect(clusters.delete(api, 'default', name)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(clusters.get('default', name)).resolves.toMatchObject({ id, generation: 1 });
    const never = await newCluster();
    await clusters.delete(api, 'default', never.name);
    keysAway = false;
    await clusters.delete(api, 'default', name);
    expect([revoked.get(id), gone.has(id), revoked.has(never.id)]).toEqual([1, true, false]);
    await expect(clusters.delete(api, 'default', name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await lastEvents(1)).toEqual(['cluster.deleted.v1 OK']);
  });

  it('take the certificates of an enrolment in between as well', async () => {
    const { id, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    const token = await mint(name);
    whileRevoking = async () => void (await enrol(token, await newCsr()));
    await clusters.delete(api, 'default', name);
    expect(revoked.get(id)).toBe(2);
    await expect(clusters.get('default', name)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('take their tokens and links with them', async () => {
    const { name, id } = await newCluster();
    const token = await mint(name);
    const { code } = await links.create(api, 'default', name);
    await clusters.delete(api, 'default', name);
    await expect(links.redeem(api, code)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(enrol(token, await newCsr())).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    const rows: unknown = await database.query('select 1 from bootstrap_tokens where cluster_id = $1', [id]);
    expect(rows).toEqual([]);
  });
});

describe('import links', () => {
  it('give one manifest, and store neither code nor secret', async () => {
    const { name } = await newCluster();
    const { code } = await links.create(api, 'default', name);
    const token = tokenIn(await links.redeem(api, code));
    expect(token.pin).toBe(spkiPin(authority.roots[0]!));
    await expect(links.redeem(api, code)).rejects.toMatchObject({ code: 'GONE' });
    await expect(links.redeem(api, 'never-was')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const dump = JSON.stringify([
      await database.query('select * from import_links'),
      await database.query('select * from bootstrap_tokens'),
      await database.query('select body from outbox'),
    ]);
    const secret = Buffer.from(token.secret);
    for (const text of [code, secret.toString('base64'), secret.toString('base64url'), secret.toString('hex')]) {
      expect(dump.includes(text)).toBe(false);
    }
    expect(await lastEvents(2)).toEqual(['import-link.refused.v1 NOT_FOUND', 'import-link.refused.v1 GONE']);
  });

  it('expire', async () => {
    const { name } = await newCluster();
    const { code } = await links.create(api, 'default', name);
    aheadMs = 601_000;
    await expect(links.redeem(api, code)).rejects.toMatchObject({ code: 'GONE' });
  });

  it('are spent once, whoever asks at the same time', async () => {
    const { name } = await newCluster();
    const { code } = await links.create(api, 'default', name);
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => links.redeem(api, code)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('stay good when the keys service is away', async () => {
    const { name } = await newCluster();
    const { code } = await links.create(api, 'default', name);
    keysAway = true;
    await expect(links.redeem(api, code)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    keysAway = false;
    await expect(links.redeem(api, code)).resolves.toContain('kind: Deployment');
  });
});

describe('enrolment', () => {
  it('spends a token for a certificate, and answers the same key again', async () => {
    const { id, name } = await newCluster();
    const token = await mint(name);
    const request = await newCsr();
    const first = await enrol(token, request);
    expect(first).toMatchObject({ tenantId: 'default', clusterId: id, generation: 1 });
    expect(first.chain).toHaveLength(3);
    expect(await lastEvents(1)).toEqual(['enrolment.succeeded.v1 OK']);
    expect(await enrol(token, request)).toMatchObject({ generation: 1 });
    await expect(enrol(token, await newCsr())).rejects.toMatchObject({ code: 'TOKEN_USED' });
    expect(await lastEvents(1)).toEqual(['enrolment.refused.v1 TOKEN_USED']);
    expect(await clusters.get('default', name)).toMatchObject({ generation: 1, presence: { state: 'offline' } });
  });

  it('is bound to one key when two ask at once', async () => {
    const { name } = await newCluster();
    const token = await mint(name);
    const requests = await Promise.all([newCsr(), newCsr(), newCsr()]);
    const results = await Promise.allSettled(requests.map((request) => enrol(token, request)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await clusters.get('default', name)).toMatchObject({ generation: 1 });
  });

  it('may be repeated by the same key after the keys service was away', async () => {
    const { name } = await newCluster();
    const token = await mint(name);
    const request = await newCsr();
    keysAway = true;
    await expect(enrol(token, request)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    keysAway = false;
    expect(await enrol(token, request)).toMatchObject({ generation: 1 });
  });

  it('tells wrong, expired and revoked tokens apart', async () => {
    const { name } = await newCluster();
    const [old, current] = [await mint(name), await mint(name)];
    const request = await newCsr();
    await expect(enrol(old, request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    const wrong = { ...current, secret: randomBytes(32).toString('base64') };
    await expect(enrol(wrong, request)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    await expect(enrol({ ...current, tokenId: 'x' }, request)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    await expect(enrol(current, 'AAAA')).rejects.toMatchObject({ code: 'CSR_INVALID' });
    aheadMs = 3_601_000;
    await expect(enrol(current, request)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' });
    const codes = ['TOKEN_EXPIRED', 'CSR_INVALID', 'TOKEN_UNKNOWN', 'TOKEN_UNKNOWN', 'TOKEN_REVOKED'];
    expect(await lastEvents(5)).toEqual(codes.map((code) => `enrolment.refused.v1 ${code}`));
  });

  it('counts up, and a later enrolment ends an earlier one', async () => {
    const { name } = await newCluster();
    const first = await mint(name);
    const request = await newCsr();
    await enrol(first, request);
    expect(await enrol(await mint(name), await newCsr())).toMatchObject({ generation: 2 });
    await expect(enrol(first, request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
  });
});

describe('a proof in the place of the secret', () => {
  it('enrols the key of its request, again and again', async () => {
    const { id, name } = await newCluster();
    const [token, request] = [await mint(name), await newCsr()];
    const shown = proven(token, request);
    expect(await enrol(shown, request)).toMatchObject({ clusterId: id, generation: 1 });
    expect(await enrol(shown, request)).toMatchObject({ generation: 1 });
    // The bound is the key, however it was shown; who has the whole token learns that it is spent.
    const other = await newCsr();
    await expect(enrol(proven(token, other), other)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    await expect(enrol(token, other)).rejects.toMatchObject({ code: 'TOKEN_USED' });
  });

  it('is no use for another request: that is refused as an unknown token, and the token stays good', async () => {
    const { name } = await newCluster();
    const [token, request, thiefs] = [await mint(name), await newCsr(), await newCsr()];
    const shown = proven(token, request);
    await expect(enrol(shown, thiefs)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(await lastEvents(1)).toEqual(['enrolment.refused.v1 TOKEN_UNKNOWN']);
    // Nor can a gateway show it as the secret, or for another token.
    const asSecret = { tokenId: token.tokenId, secret: 'proof' in shown ? shown.proof : '' };
    await expect(enrol(asSecret, thiefs)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    const another = await mint((await newCluster()).name);
    await expect(enrol({ ...shown, tokenId: another.tokenId }, request)).rejects.toMatchObject({
      code: 'TOKEN_UNKNOWN',
    });
    expect(await clusters.get('default', name)).toMatchObject({ generation: 0, presence: { lastError: null } });
    expect(await enrol(shown, request)).toMatchObject({ generation: 1 });
  });

  it('cannot be made of what the database holds', async () => {
    const { name } = await newCluster();
    const [{ tokenId }, request] = [await mint(name), await newCsr()];
    const [row] = (await database.query('select secret_hash, proof_key from bootstrap_tokens where id = $1', [
      tokenId,
    ])) as { secret_hash: string; proof_key: string }[];
    const key = Buffer.from(row?.proof_key ?? '', 'base64');
    const guesses = [row?.secret_hash ?? '', key.toString('base64'), key.subarray(-32).toString('base64')];
    for (const secret of guesses) {
      for (const shown of [{ tokenId, secret }, proven({ tokenId, secret }, request)]) {
        await expect(enrol(shown, request)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
      }
    }
  });

  it('is as good as its token: not after it was revoked or has expired, and not for one that is not there', async () => {
    const { name } = await newCluster();
    const [old, current, request] = [await mint(name), await mint(name), await newCsr()];
    await expect(enrol(proven(old, request), request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    const nobodys = { ...current, tokenId: `p-${randomUUID()}` };
    await expect(enrol(proven(nobodys, request), request)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    aheadMs = 3_601_000;
    await expect(enrol(proven(current, request), request)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' });
  });

  it('is nothing for a token that was minted before there were proofs, whose secret is taken', async () => {
    const { name } = await newCluster();
    const [token, request] = [await mint(name), await newCsr()];
    await database.query('update bootstrap_tokens set proof_key = null where id = $1', [token.tokenId]);
    await expect(enrol(proven(token, request), request)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(await enrol(token, request)).toMatchObject({ generation: 1 });
  });
});

describe('projection', () => {
  it('shows clusters to gateways, repairs strays, and survives NATS being killed', async () => {
    const reader = await nats.connect(gateway);
    const known = watchBucket(reader, BUCKETS.clusters, ClusterEntry);
    const { id, name } = await newCluster();
    await eventually(() => expect(known.get(`default.${id}`)).toMatchObject({ name, generation: 0 }));
    await enrol(await mint(name), await newCsr());
    await eventually(() => expect(known.get(`default.${id}`)).toMatchObject({ generation: 1 }));

    nats.server.kill('SIGKILL');
    await clusters.delete(api, 'default', name);
    await nats.server.restart();
    await eventually(() => expect(known.get(`default.${id}`)).toBeUndefined(), { timeoutMs: 60_000 });

    const stray = { tenantId: 'default', clusterId: crypto.randomUUID(), name: 'stray', generation: 1 };
    await putKv(connection, BUCKETS.clusters, `default.${stray.clusterId}`, stray);
    await eventually(() => expect(known.get(`default.${stray.clusterId}`)).toBeUndefined());
    await known.close();
  });
});

describe('presence', () => {
  it('comes from the sessions that gateways announce', async () => {
    const { id, name } = await newCluster();
    await enrol(await mint(name), await newCsr());
    const writer = await nats.connect(gateway);
    const instance = crypto.randomUUID();
    const lease = {
      tenantId: 'default',
      clusterId: id,
      generation: 1,
      sessionId: crypto.randomUUID(),
      gatewayInstance: instance,
      agentInstance: 'agent-1',
      address: '192.0.2.1',
      connectedAt: new Date().toISOString(),
      agentVersion: '0.1.0',
      pod: null,
    };
    const beat = {
      credential: 'gateway-a',
      instance,
      relayAddress: '127.0.0.1:1',
      zone: 'a',
      inFlight: 0,
      draining: false,
    };
    await putKv(writer, BUCKETS.routes, routeKeys.gateway('gateway-a', instance), { ...beat, beat: 1 });
    await putKv(writer, BUCKETS.routes, routeKeys.session('gateway-a', lease), lease);
    await eventually(async () =>
      expect((await clusters.get('default', name)).presence).toEqual({
        state: 'online',
        replicas: ['gateway-a'],
        liveReplicas: 1,
        since: lease.connectedAt,
        agents: [
          { instance: 'agent-1', addresses: ['192.0.2.1'], since: lease.connectedAt, version: '0.1.0', pod: null },
        ],
        duplicate: null,
        lastError: null,
      }),
    );
  });
});

it('tells once of two agents with one identity, however many instances of the service see them', async () => {
  const { id, name } = await newCluster();
  const since = new Date().toISOString();
  const agents = ['one', 'two'].map((instance) => ({
    instance,
    addresses: ['192.0.2.1'],
    since,
    version: '',
    pod: null,
  }));
  const crowd = { tenantId: 'default', clusterId: id, duplicate: 'elsewhere' as const, agents };
  await Promise.all([
    reportDuplicate(runtime, crowd),
    reportDuplicate(runtime, { ...crowd, agents: agents.toReversed() }),
  ]);
  const told = (await database.query('select body from outbox where body like $1', ['%agent.duplicated.v1%'])) as {
    body: string;
  }[];
  const events = told.map(({ body }) => Envelope.parse(JSON.parse(body)));
  expect(events.map(({ data }) => [data['clusterId'], data['name']])).toEqual([[id, name]]);
});

it('comes back by itself after Postgres was killed', async () => {
  const { name } = await newCluster();
  fixture.postgres.kill('SIGKILL');
  const failure = (): Promise<unknown> => clusters.get('default', name).catch((error: unknown) => error);
  // The process of an open connection outlives its parent for a moment.
  await eventually(async () => expect(await failure()).toMatchObject({ code: 'UNAVAILABLE' }));
  await fixture.postgres.restart();
  await eventually(async () => expect(await clusters.get('default', name)).toMatchObject({ name }));
});
