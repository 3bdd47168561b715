import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ApprovalPolicy } from '@fairlead/contracts';
import type { FairleadError } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { checkCsr } from '@fairlead/pki';
import { eventually, testAuthority, testTrustBundle, type TestAuthority } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { QUEUE } from './domain/adoption-queue.js';
import { signatureOf } from './feature/approval-webhook.js';
import {
  ApprovalPolicies,
  ApprovalWebhook,
  BootstrapTokens,
  Clusters,
  EnrolmentRequests,
  Enrolments,
  ImportLinks,
  LinkProblems,
  StaticIdentities,
  type Runtime,
  type WebhookOptions,
} from './index.js';
import {
  api,
  facts,
  gateway,
  lastEvents as eventsOf,
  linkOptions,
  mint as mintBy,
  neverSeen,
  newCsr,
  registrationFixture,
  signerOf,
  source,
  type RegistrationFixture,
} from './testing/registration-fixture.js';
import { ADOPTED } from './store/cluster-store.js';

const waiting = expect.objectContaining({ code: 'ENROLMENT_PENDING' }) as Error;

let fixture: RegistrationFixture;
let database: DataSource;
let authority: TestAuthority;
let runtime: Runtime;
let requests: EnrolmentRequests;
let policies: ApprovalPolicies;
let clusters: Clusters;
let links: ImportLinks;
let enrolments: Enrolments;
let aheadMs = 0;

beforeAll(async () => {
  authority = await testAuthority();
  fixture = await registrationFixture();
  database = await fixture.open();
  const now = (): Date => new Date(Date.now() + aheadMs);
  runtime = { database, source, logger: silentLogger, onCommitted: () => undefined, now };
  clusters = new Clusters(runtime, neverSeen, async () => undefined);
  links = new ImportLinks(runtime, linkOptions(authority));
  configure('token', false);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  aheadMs = 0;
  configure('token', false);
  await database.query('delete from enrolment_requests');
  await policies.set(api, 'default', undefined, null);
});

function configure(
  policy: ApprovalPolicy,
  insecureAllowed: boolean,
  hook: WebhookOptions | null = null,
  logger: Logger = silentLogger,
): void {
  requests = new EnrolmentRequests(runtime);
  policies = new ApprovalPolicies(runtime, { policy, webhookConfigured: hook !== null, insecureAllowed });
  const webhook = new ApprovalWebhook({ ...runtime, logger }, policies, requests, hook);
  enrolments = new Enrolments(
    runtime,
    { policies, requests, webhook, linkProblems: new LinkProblems(runtime) },
    signerOf(authority),
  );
}

let count = 0;
const newCluster = (): ReturnType<Clusters['create']> =>
  clusters.create(api, 'default', {
    name: `a${(count += 1)}`,
    ...ADOPTED,
    links: 1,
  });

const fingerprintOf = async (csr: string): Promise<string> => (await checkCsr(Buffer.from(csr, 'base64'))).spkiSha256;

const mint = (name: string): ReturnType<typeof mintBy> => mintBy(links, name);

const ask = (
  csr: string,
  token: { tokenId: string; secret: string } | null = null,
  remoteAddress = '192.0.2.1',
): ReturnType<Enrolments['enrol']> =>
  enrolments.enrol(gateway, { tokenId: null, secret: '', ...token, csr, facts, remoteAddress });

type Filter = Parameters<EnrolmentRequests['list']>[1];
const listed = async (filter?: Filter) => (await requests.list('default', filter)).requests;

async function lastEvents(limit: number): Promise<string[]> {
  return (await eventsOf(database, limit)).map(({ type }) => type.slice('dev.fairlead.'.length));
}

describe('an agent without a token', () => {
  it('is refused unless a policy hears it', async () => {
    await expect(ask(await newCsr())).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await policies.set(api, 'default', undefined, 'always-reject');
    await expect(ask(await newCsr())).rejects.toMatchObject({ code: 'ENROLMENT_REJECTED' });
    expect(await listed()).toEqual([]);
    expect((await lastEvents(1))[0]).toBe('enrolment.refused.v1');
  });

  it('that comes in crowds leaves so many events and no more, and who has a token leaves its own', async () => {
    const { name } = await newCluster();
    const [csr, other, token] = [await newCsr(), await newCsr(), await mint(name)];
    await ask(csr, token);
    const counted = async (): Promise<number> => (await lastEvents(10_000)).length;
    const before = await counted();
    // Each is a new token that nobody knows, of a network of its own.
    for (let n = 0; n < 300; n += 1) {
      const made = { tokenId: `made-up-${n}`, secret: token.secret };
      const asked = ask(await newCsr(), made, `192.0.${n >> 8}.${n & 255}`);
      await expect(asked).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    }
    const told = (await counted()) - before;
    expect(told).toBeGreaterThanOrEqual(200);
    expect(told).toBeLessThan(210);
    await expect(ask(other, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    expect(await counted()).toBe(before + told + 1);
  });

  it('waits, learns nothing but that, and has its identity once it is approved as a new cluster', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    const csr = await newCsr();
    await expect(ask(csr)).rejects.toMatchObject({
      code: 'ENROLMENT_PENDING',
      message: `waiting for an administrator to approve the key ${await fingerprintOf(csr)}`,
    });
    await expect(ask(csr)).rejects.toEqual(waiting);
    const [request, ...others] = await listed({ state: 'pending' });
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      fingerprint: await fingerprintOf(csr),
      cluster: null,
      facts,
      remoteAddress: '192.0.2.1',
      decidedAt: null,
    });
    const unnamed = requests.approve(api, 'default', request!.id);
    await expect(unnamed).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const approved = await requests.approve(api, 'default', request!.id, 'shop-eu');
    expect(approved).toMatchObject({ state: 'approved', cluster: 'shop-eu' });
    expect(await lastEvents(2)).toEqual(['enrolment.succeeded.v1', 'enrolment.approved.v1']);
    const enrolled = await ask(csr);
    expect(enrolled).toMatchObject({ clusterId: (await clusters.get('default', 'shop-eu')).id, generation: 1 });
    // The answer may have been lost.
    expect(await ask(csr)).toMatchObject({ clusterId: enrolled.clusterId, generation: 1 });
    await expect(requests.reject(api, 'default', request!.id, 'late')).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('approved as a cluster that exists, fences the agent that it had', async () => {
    const { name, id } = await newCluster();
    expect(await ask(await newCsr(), await mint(name))).toMatchObject({ generation: 1 });
    const unused = await mint(name);
    await policies.set(api, 'default', undefined, 'queue');
    const csr = await newCsr();
    await expect(ask(csr)).rejects.toEqual(waiting);
    const [request] = await listed({ state: 'pending' });
    await requests.approve(api, 'default', request!.id, name);
    expect(await ask(csr)).toMatchObject({ clusterId: id, generation: 2 });
    await policies.set(api, 'default', undefined, 'token');
    await expect(ask(await newCsr(), unused)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    await ask(await newCsr(), await mint(name));
    await expect(ask(csr)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
  });

  it('that is rejected is told why, each time', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    const csr = await newCsr();
    await expect(ask(csr)).rejects.toEqual(waiting);
    const [request] = await listed({ state: 'pending' });
    await requests.reject(api, 'default', request!.id, 'not one of ours');
    for (const _ of [1, 2]) await expect(ask(csr)).rejects.toThrow(/rejected this agent: not one of ours/);
    expect(await listed({ state: 'rejected' })).toMatchObject([{ reason: 'not one of ours' }]);
    const again = requests.approve(api, 'default', request!.id, 'x');
    await expect(again).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(requests.approve(api, 'other', request!.id, 'x')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is forgotten when it asks no more, and in any case after a day', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    const [silent, patient] = [await newCsr(), await newCsr()];
    await expect(ask(silent)).rejects.toEqual(waiting);
    await expect(ask(patient)).rejects.toEqual(waiting);
    aheadMs = QUEUE.silenceMs - 60_000;
    await expect(ask(patient)).rejects.toEqual(waiting);
    aheadMs = QUEUE.silenceMs + 60_000;
    await expect(ask(await newCsr())).rejects.toEqual(waiting);
    const left = (await listed()).map(({ fingerprint }) => fingerprint);
    expect(left).toContain(await fingerprintOf(patient));
    expect(left).not.toContain(await fingerprintOf(silent));
    aheadMs = 2 * QUEUE.lifeMs;
    expect(await listed()).toEqual([]);
  });
});

describe('the queue', () => {
  /** So many wait already, from one address. */
  const fill = (count: number): Promise<unknown> =>
    database.query(
      `insert into enrolment_requests
         (id, tenant_id, state, spki_sha256, facts, remote_address, network, created_at, last_asked_at, expires_at)
       select gen_random_uuid(), 'default', 'pending', encode(sha256(n::text::bytea), 'hex'), '{"agentVersion":"","kubernetesVersion":"","platform":""}', '198.51.100.9', '198.51.100.9', now(), now(),
         now() + '1 day'
       from generate_series(1, $1) n`,
      [count],
    );

  it('takes an IPv6 /64 for one address', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    await fill(QUEUE.perAddress - 1);
    await database.query(`update enrolment_requests set network = '2001:db8:0:7'`);
    await expect(ask(await newCsr(), null, '2001:db8:0:7::1')).rejects.toEqual(waiting);
    const neighbour = ask(await newCsr(), null, '2001:db8:0:7:ffff::2');
    await expect(neighbour).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await expect(ask(await newCsr(), null, '2001:db8:0:8::1')).rejects.toEqual(waiting);
  });

  it('remembers a bounded number of decisions, and forgets the oldest', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    await fill(QUEUE.decidedPerTenant);
    await database.query(
      `update enrolment_requests set state = 'rejected', decided_at = now() - interval '1 hour', reason = 'no'`,
    );
    const csr = await newCsr();
    await expect(ask(csr)).rejects.toEqual(waiting);
    const [request] = await listed({ state: 'pending' });
    await requests.reject(api, 'default', request!.id, 'not one of ours');
    await expect(ask(await newCsr())).rejects.toEqual(waiting);
    const counted = 'select count(*)::int as count from enrolment_requests where decided_at is not null';
    expect(await database.query(counted)).toEqual([{ count: QUEUE.decidedPerTenant }]);
    await expect(ask(csr)).rejects.toMatchObject({ code: 'ENROLMENT_REJECTED' });
  });

  it('takes a bounded number from one address, leaves room for others, and tells nobody of those it did not take', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    await fill(QUEUE.perAddress);
    const before = await lastEvents(1_000);
    const full = ask(await newCsr(), null, '198.51.100.9');
    await expect(full).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await lastEvents(1_000)).toHaveLength(before.length);
    await expect(ask(await newCsr(), null, '192.0.2.7')).rejects.toEqual(waiting);
  });

  it('keeps places for who has a token, shows them first, and finds one by its fingerprint', async () => {
    const { name } = await newCluster();
    await policies.set(api, 'default', undefined, 'queue');
    await fill(QUEUE.perTenant);
    await expect(ask(await newCsr(), null, '192.0.2.7')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    const invited = await newCsr();
    await expect(ask(invited, await mint(name), '198.51.100.9')).rejects.toEqual(waiting);
    await database.query(
      `update enrolment_requests set created_at = now() + interval '1 minute' where token_id is null`,
    );
    const [first, second] = await listed();
    const fingerprint = await fingerprintOf(invited);
    expect([first?.fingerprint, second?.cluster]).toEqual([fingerprint, null]);
    const found = await listed({ fingerprint: fingerprint.slice(0, 16) });
    expect(found.map(({ cluster }) => cluster)).toEqual([name]);
  });

  it('is listed in pages, nobody twice and nobody left out, while agents come and go', async () => {
    const { name } = await newCluster();
    const { tokenId } = await mint(name);
    await fill(1_200);
    // Several of the same millisecond, and of different microseconds within it.
    await database.query(
      `update enrolment_requests set created_at = created_at - ascii(substr(spki_sha256, 2)) * interval '137 microseconds',
         token_id = case when spki_sha256 < 'a' then $1 end`,
      [tokenId],
    );
    const all = async (where = 'true'): Promise<string[]> => {
      const rows = await database.query<{ id: string }[]>(`select id from enrolment_requests where ${where}`);
      return rows.map(({ id }) => id);
    };
    const invited = new Set(await all('token_id is not null'));
    const first = await requests.list('default', { state: 'pending' });
    const told = first.requests.map(({ id }) => id);
    // The first page ends among those with a token.
    expect(told.length).toBeLessThan(invited.size);
    // The one that the next page begins after, one that comes later, and one that ends by the clock alone.
    const [gone, lapsed] = (await all()).filter((id) => !told.includes(id));
    await database.query('delete from enrolment_requests where id = any($1)', [[told.at(-1), gone]]);
    await database.query('update enrolment_requests set expires_at = now() where id = $1', [lapsed]);
    const expected = new Set([...told, ...(await all())].filter((id) => id !== lapsed));
    // Whoever asks meanwhile is newer than those who are still to be told.
    await database.query(
      `insert into enrolment_requests (id, tenant_id, state, spki_sha256, facts, remote_address, network, created_at, last_asked_at, expires_at)
       select gen_random_uuid(), tenant_id, state, 'new' || spki_sha256, facts, remote_address, network, now(), now(), now() + interval '1 day'
         from enrolment_requests where token_id is not null limit 50`,
    );
    for (let next = first.next; next !== undefined;) {
      const page = await requests.list('default', { state: 'pending', after: next });
      told.push(...page.requests.map(({ id }) => id));
      next = page.next;
    }
    const added = new Set(await all(`spki_sha256 like 'new%'`));
    expect(new Set(told).size).toBe(told.length);
    expect(new Set(told.filter((id) => !added.has(id)))).toEqual(expected);
    expect(told.findLastIndex((id) => invited.has(id))).toBeLessThan(told.findIndex((id) => !invited.has(id)));
  });

  it('takes no more than that when many ask at once for the last places', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    await fill(QUEUE.perAddress - 2);
    // More than there are connections to the database, and few enough for the time that one may wait for a lock.
    const csrs = await Promise.all(Array.from({ length: 12 }, newCsr));
    const answers = await Promise.allSettled(csrs.map((csr) => ask(csr, null, '198.51.100.9')));
    const codes = answers.map((answer) =>
      answer.status === 'rejected' ? (answer.reason as FairleadError).code : 'OK',
    );
    expect(codes.filter((code) => code === 'ENROLMENT_PENDING')).toHaveLength(2);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(10);
  });

  it('takes one request of a key, whichever replicas it asked at once', async () => {
    await policies.set(api, 'default', undefined, 'queue');
    const csr = await newCsr();
    const answers = await Promise.allSettled(Array.from({ length: 8 }, () => ask(csr)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'rejected'));
    expect(await listed()).toHaveLength(1);
  });
});

describe('a token under another policy', () => {
  it('of the cluster: says which cluster it is, and an administrator decides', async () => {
    const { name, id } = await newCluster();
    await policies.set(api, 'default', name, 'queue');
    expect(await policies.get('default', name)).toEqual({ set: 'queue', effective: 'queue' });
    expect(await policies.get('default', undefined)).toEqual({ set: null, effective: 'token' });
    const token = await mint(name);
    const csr = await newCsr();
    await expect(ask(csr, token)).rejects.toEqual(waiting);
    const [request] = await listed({ state: 'pending' });
    expect(request).toMatchObject({ cluster: name });
    const other = requests.approve(api, 'default', request!.id, 'another');
    await expect(other).rejects.toMatchObject({ code: 'CONFLICT' });
    await requests.approve(api, 'default', request!.id);
    expect(await ask(csr, token)).toMatchObject({ clusterId: id, generation: 1 });
    await expect(ask(await newCsr(), token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
  });

  it('is worth nothing where everybody is rejected', async () => {
    const { name } = await newCluster();
    await policies.set(api, 'default', name, 'always-reject');
    await expect(ask(await newCsr(), await mint(name))).rejects.toMatchObject({ code: 'ENROLMENT_REJECTED' });
  });

  it('with a wrong secret is refused as ever, and never waits', async () => {
    const { name } = await newCluster();
    await policies.set(api, 'default', name, 'queue');
    const wrong = { ...(await mint(name)), secret: randomBytes(32).toString('base64') };
    await expect(ask(await newCsr(), wrong)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(await listed()).toEqual([]);
  });
});

describe('a token with which somebody waits', () => {
  /** A cluster that has a token, and an agent that waits with it. */
  async function waitingFor(policy: ApprovalPolicy = 'queue') {
    const { name, id } = await newCluster();
    await policies.set(api, 'default', name, policy);
    const token = await mint(name);
    const csr = await newCsr();
    await expect(ask(csr, token)).rejects.toEqual(waiting);
    const pending = await listed({ state: 'pending' });
    const request = pending.find(({ cluster }) => cluster === name)!;
    return { name, id, token, csr, request };
  }

  /** It is not approved any more, neither now nor by a policy that lets it in later. */
  async function expectOver({ csr, token, request, name }: Awaited<ReturnType<typeof waitingFor>>, code: string) {
    const late = await requests.approve(api, 'default', request.id).catch((error: unknown) => error);
    expect(['CONFLICT', 'NOT_FOUND']).toContain((late as FairleadError).code);
    await expect(ask(csr, token)).rejects.toMatchObject({ code });
    await policies.set(api, 'default', name, 'token');
    await expect(ask(csr, token)).rejects.toMatchObject({ code });
    await expect(ask(csr)).rejects.not.toEqual(waiting);
  }

  it('is good for no other key, before the approval and after it', async () => {
    const { token, csr, request, name } = await waitingFor();
    const thief = await newCsr();
    await expect(ask(thief, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    await requests.approve(api, 'default', request.id);
    await expect(ask(thief, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    expect(await ask(csr, token)).toMatchObject({ generation: 1 });
    await policies.set(api, 'default', name, 'token');
    await expect(ask(thief, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
  });

  it('is good for one key, however many ask with it at once', async () => {
    const { name } = await newCluster();
    await policies.set(api, 'default', name, 'queue');
    const token = await mint(name);
    const csrs = await Promise.all(Array.from({ length: 6 }, newCsr));
    const answers = await Promise.allSettled(csrs.map((csr) => ask(csr, token)));
    const codes = answers.map((answer) => (answer as { reason: FairleadError }).reason.code).sort();
    expect(codes).toEqual(['ENROLMENT_PENDING', ...Array.from({ length: 5 }, () => 'TOKEN_USED')]);
  });

  it('is the first key’s under a program that approves whoever says the right cluster', async () => {
    let verdict: unknown = { decision: 'perhaps' };
    await using hook = await startHook((response) => says(verdict)(response));
    configure('webhook', false, hook.options);
    const { name } = await newCluster();
    const token = await mint(name);
    const [csr, thief] = [await newCsr(), await newCsr()];
    await expect(ask(csr, token)).rejects.toEqual(waiting);
    await expect(ask(thief, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    verdict = { decision: 'approve' };
    await expect(ask(thief, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    expect(await ask(csr, token)).toMatchObject({ generation: 1 });
    await expect(ask(thief, token)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    expect(hook.asked).toHaveLength(2);
    expect(await ask(csr, token)).toMatchObject({ generation: 1 });
  });

  it('lets nobody in after it was revoked, and the program is not asked', async () => {
    let verdict: unknown = { decision: 'perhaps' };
    await using hook = await startHook((response) => says(verdict)(response));
    configure('token', false, hook.options);
    const waits = await waitingFor('webhook');
    verdict = { decision: 'approve' };
    await new BootstrapTokens(runtime).revoke(api, 'default', { name: waits.name, id: waits.token.tokenId, by: 'a' });
    expect((await lastEvents(2)).sort()).toEqual(['enrolment.rejected.v1', 'token.revoked.v1']);
    await expectOver(waits, 'TOKEN_REVOKED');
    expect(hook.asked).toHaveLength(1);
    expect(await clusters.get('default', waits.name)).toMatchObject({ generation: 0 });
  });

  it('lets nobody in after it has expired; an approval before that holds', async () => {
    const [late, approved] = [await waitingFor(), await waitingFor()];
    await requests.approve(api, 'default', approved.request.id);
    aheadMs = 3_600_000 + 1_000;
    expect(await listed({ state: 'pending' })).toEqual([]);
    expect(await ask(approved.csr, approved.token)).toMatchObject({ generation: 1 });
    await expectOver(late, 'TOKEN_EXPIRED');
  });

  it('lets nobody in after its cluster was revoked, or an identity was taken there by hand', async () => {
    const [revoked, byHand] = [await waitingFor(), await waitingFor()];
    await clusters.revoke(api, 'default', revoked.name, 'stolen');
    await expectOver(revoked, 'TOKEN_REVOKED');
    expect(await listed({ state: 'rejected' })).toMatchObject([{ reason: 'the cluster was revoked' }]);
    const identities = new StaticIdentities(runtime, {
      endpoints: ['127.0.0.1:7443'],
      signAgent: signerOf(authority),
      trustBundle: () => testTrustBundle(authority),
      manifestFor: () => '',
    });
    await identities.issue(api, 'default', { name: byHand.name, csr: await newCsr(), by: 'a' });
    await expectOver(byHand, 'TOKEN_REVOKED');
    expect(await clusters.get('default', byHand.name)).toMatchObject({ generation: 1 });
  });

  it('is worth nothing after another agent was approved as its cluster, and each rejection leaves an event', async () => {
    const waits = await waitingFor();
    await policies.set(api, 'default', undefined, 'queue');
    const adopted = await newCsr();
    await expect(ask(adopted)).rejects.toEqual(waiting);
    const fingerprint = await fingerprintOf(adopted);
    const request = (await listed({ state: 'pending' })).find((each) => each.fingerprint === fingerprint);
    await requests.approve(api, 'default', request!.id, waits.name);
    expect((await lastEvents(3)).sort()).toEqual([
      'enrolment.approved.v1',
      'enrolment.rejected.v1',
      'enrolment.succeeded.v1',
    ]);
    await expectOver(waits, 'TOKEN_REVOKED');
    expect(await ask(adopted)).toMatchObject({ clusterId: waits.id, generation: 1 });
  });

  it('is replaced by a newer manifest, with which the same key may ask anew', async () => {
    const waits = await waitingFor();
    const newer = await mint(waits.name);
    await expect(ask(waits.csr, waits.token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    const guessed = { ...newer, secret: randomBytes(32).toString('base64') };
    await expect(ask(waits.csr, guessed)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    await expect(ask(waits.csr, newer)).rejects.toEqual(waiting);
    await expect(ask(await newCsr(), newer)).rejects.toMatchObject({ code: 'TOKEN_USED' });
    const [request, ...others] = await listed({ state: 'pending' });
    expect(others).toEqual([]);
    await requests.approve(api, 'default', request!.id);
    expect(await ask(waits.csr, newer)).toMatchObject({ clusterId: waits.id, generation: 1 });
  });

  it('is over with its cluster', async () => {
    const { name, token, csr } = await waitingFor();
    await clusters.delete(api, 'default', name);
    expect(await lastEvents(2)).toEqual(['cluster.deleted.v1', 'enrolment.rejected.v1']);
    await expect(ask(csr, token)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
  });
});

describe('insecure-always-approve', () => {
  it('cannot be chosen without the flag, and counts as always-reject where it was chosen with it', async () => {
    const refused = policies.set(api, 'default', undefined, 'insecure-always-approve');
    await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN' });
    configure('token', true);
    await policies.set(api, 'default', undefined, 'insecure-always-approve');
    configure('token', false);
    expect(await policies.get('default', undefined)).toEqual({
      set: 'insecure-always-approve',
      effective: 'always-reject',
    });
    await expect(ask(await newCsr())).rejects.toMatchObject({ code: 'ENROLMENT_REJECTED' });
  });

  it('lets in whoever asks, as a cluster of its own, and leaves an event that says so', async () => {
    configure('insecure-always-approve', true);
    const csr = await newCsr();
    const { clusterId } = await ask(csr);
    const name = `adopted-${(await fingerprintOf(csr)).slice(0, 12)}`;
    expect(await clusters.get('default', name)).toMatchObject({ id: clusterId, generation: 1 });
    expect(await ask(csr)).toMatchObject({ clusterId });
    expect((await lastEvents(3)).sort()).toEqual([
      'enrolment.approved.v1',
      'enrolment.requested.v1',
      'enrolment.succeeded.v1',
    ]);
  });
});

interface Hook extends AsyncDisposable {
  readonly options: WebhookOptions;
  /** Bodies whose signature was right. */
  readonly asked: Record<string, unknown>[];
}

/** A program that decides, and is given so long. It looks at signatures as the documentation says. */
async function startHook(answer: (response: ServerResponse) => void, timeoutMs = 20_000): Promise<Hook> {
  const secret = randomBytes(32).toString('hex');
  const asked: Record<string, unknown>[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const signature = String(request.headers['fairlead-signature']);
    const at = new Date(Number(/^t=(\d+),/.exec(signature)?.[1]) * 1_000);
    if (signature === signatureOf(secret, body, at)) asked.push(JSON.parse(body) as Record<string, unknown>);
    answer(response);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/decide`;
  return {
    options: { url, secret, timeoutMs },
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const says = (verdict: unknown) => (response: ServerResponse) => void response.end(JSON.stringify(verdict));

describe('a webhook', () => {
  it('cannot be chosen before there is one', async () => {
    await expect(policies.set(api, 'default', undefined, 'webhook')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('lets an agent in, which is answered at once', async () => {
    await using hook = await startHook(says({ decision: 'approve', cluster: 'in-inventory' }));
    configure('webhook', false, hook.options);
    const csr = await newCsr();
    const { clusterId } = await ask(csr);
    expect(clusterId).toBe((await clusters.get('default', 'in-inventory')).id);
    expect(hook.asked).toMatchObject([
      { tenantId: 'default', cluster: null, fingerprint: await fingerprintOf(csr), facts, remoteAddress: '192.0.2.1' },
    ]);
    await ask(csr);
    expect(hook.asked).toHaveLength(1);
  });

  it('is told whose token an agent showed, and turns it away with a reason', async () => {
    await using hook = await startHook(says({ decision: 'reject', reason: 'not in the inventory' }));
    configure('webhook', false, hook.options);
    const { name } = await newCluster();
    const refused = ask(await newCsr(), await mint(name));
    await expect(refused).rejects.toThrow(/not in the inventory/);
    expect(hook.asked).toMatchObject([{ cluster: name }]);
  });

  it.each<[string, (response: ServerResponse) => void, number?]>([
    ['never answers', () => undefined, 3_000],
    ['answers with an error', (response) => void response.writeHead(500).end('{"decision":"approve","cluster":"x"}')],
    ['answers something else', says({ decision: 'perhaps' })],
    ['answers no JSON', (response) => void response.end('yes')],
    ['answers without end', (response) => void response.write('x'.repeat(100_000))],
    ['sends us elsewhere', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['approves an agent without a token as nobody', says({ decision: 'approve' })],
    ['names what is no cluster', says({ decision: 'approve', cluster: 'Let Me In/../x' })],
    ['hangs up', (response) => void response.destroy()],
  ])('that %s leaves the agent waiting, for the next question or an administrator', async (_, answer, timeoutMs) => {
    await using hook = await startHook(answer, timeoutMs);
    configure('webhook', false, hook.options);
    const csr = await newCsr();
    await expect(ask(csr)).rejects.toEqual(waiting);
    await expect(ask(csr)).rejects.toEqual(waiting);
    // It may be given up before it was heard.
    await eventually(() => expect(hook.asked).toHaveLength(2));
    const [request] = await listed({ state: 'pending' });
    await requests.approve(api, 'default', request!.id, `by-hand-${(count += 1)}`);
    expect(await ask(csr)).toMatchObject({ generation: 1 });
  });

  it('that fails leaves few log lines of an agent that asks again and again, and those of others', async () => {
    await using hook = await startHook((response) => void response.writeHead(500).end());
    const warn = vi.fn();
    configure('webhook', false, hook.options, { ...silentLogger, warn });
    const csr = await newCsr();
    const startedMs = performance.now();
    for (let asked = 0; asked < 250; asked += 1) {
      // Of each gateway as often as registration bears.
      const through = { ...gateway, credential: `gateway-${asked >> 3}` };
      const request = { tokenId: null, secret: '', csr, facts, remoteAddress: '192.0.2.1' };
      await expect(enrolments.enrol(through, request)).rejects.toEqual(waiting);
    }
    // A hundred at once and two a second.
    const most = 100 + 2 * Math.ceil((performance.now() - startedMs) / 1_000) + 1;
    expect(hook.asked).toHaveLength(250);
    expect(warn.mock.calls.length).toBeGreaterThanOrEqual(100);
    expect(warn.mock.calls.length).toBeLessThanOrEqual(most);
    warn.mockClear();
    const { name } = await newCluster();
    await expect(ask(await newCsr(), await mint(name))).rejects.toEqual(waiting);
    expect(warn.mock.calls).toMatchObject([['approval.webhook.failed', { reason: 'the webhook answered 500' }]]);
  });

  it('is asked once at a time about one agent, and about so many at once; the others wait', async () => {
    const open: ServerResponse[] = [];
    await using hook = await startHook((response) => void open.push(response));
    configure('webhook', false, hook.options);
    const csr = await newCsr();
    const first = ask(csr).catch((error: unknown) => error);
    await eventually(() => expect(open).toHaveLength(1));
    // The agent broke off and asks again, while nobody has answered yet.
    for (const _ of [1, 2]) await expect(ask(csr)).rejects.toEqual(waiting);
    const csrs = await Promise.all(Array.from({ length: 7 }, newCsr));
    const others = csrs.map((each) => ask(each).catch((error: unknown) => error));
    await eventually(() => expect(open).toHaveLength(8));
    const beyond = await newCsr();
    await expect(ask(beyond)).rejects.toEqual(waiting);
    expect(hook.asked).toHaveLength(8);
    // The unauthenticated take nothing of who was invited.
    const { name } = await newCluster();
    const invited = ask(await newCsr(), await mint(name)).catch((error: unknown) => error);
    await eventually(() => expect(open).toHaveLength(9));
    for (const response of open.splice(0)) says({ decision: 'reject', reason: 'no' })(response);
    const rejected = expect.objectContaining({ code: 'ENROLMENT_REJECTED' }) as Error;
    expect(await Promise.all([first, ...others, invited])).toEqual(Array.from({ length: 9 }, () => rejected));
    const again = ask(beyond).catch((error: unknown) => error);
    await eventually(() => expect(open).toHaveLength(1));
    says({ decision: 'reject', reason: 'no' })(open[0]!);
    expect(await again).toEqual(rejected);
  });
});
