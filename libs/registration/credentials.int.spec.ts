import 'reflect-metadata';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Envelope } from '@fairlead/events';
import { FairleadError } from '@fairlead/errors';
import { silentLogger } from '@fairlead/observability';
import { checkCsr, createCsr, generatePrivateKey } from '@fairlead/pki';
import { testAuthority, testTrustBundle, type TestAuthority } from '@fairlead/testing';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
  type SignAgent,
} from './index.js';
import {
  api,
  facts,
  gateway,
  lastEvents as eventsOf,
  linkOptions,
  mint as mintBy,
  neverSeen,
  registrationFixture,
  signerOf,
  source,
  type RegistrationFixture,
} from './testing/registration-fixture.js';
import { ADOPTED } from './store/cluster-store.js';

const by = 'alice';

let fixture: RegistrationFixture;
let database: DataSource;
let authority: TestAuthority;
let clusters: Clusters;
let links: ImportLinks;
let enrolments: Enrolments;
let tokens: BootstrapTokens;
let identities: StaticIdentities;
let linkProblems: LinkProblems;
let policies: ApprovalPolicies;
let runtime: Runtime;
let aheadMs = 0;
/** Stands for the keys service being away. */
let keysAway = false;
/** Stands for an answer of the keys service that is lost, after it counted the enrolment. */
let answersLost = false;
/** What the keys service was asked to sign and to revoke. */
const signed: { clusterId: string; generation: number }[] = [];
const revoked: { clusterId: string; throughGeneration: number }[] = [];

beforeAll(async () => {
  authority = await testAuthority();
  fixture = await registrationFixture();
  database = await fixture.open();
  build();
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  aheadMs = 0;
  keysAway = false;
  answersLost = false;
});

/** Stands for the keys service. */
const sign: SignAgent = async (tenantId, request) => {
  if (keysAway) throw new FairleadError('UNAVAILABLE', 'no keys service is running');
  const issued = await signerOf(authority)(tenantId, request);
  signed.push({ clusterId: request.clusterId, generation: request.generation });
  if (answersLost) throw new FairleadError('DEADLINE_EXCEEDED', 'no answer came in time');
  return issued;
};

function build(): void {
  const now = (): Date => new Date(Date.now() + aheadMs);
  runtime = { database, source, logger: silentLogger, onCommitted: () => undefined, now };
  clusters = new Clusters(runtime, neverSeen, async (_tenant, request) => void revoked.push(request));
  links = new ImportLinks(runtime, linkOptions(authority));
  const requests = new EnrolmentRequests(runtime);
  policies = new ApprovalPolicies(runtime, { policy: 'token', webhookConfigured: false, insecureAllowed: false });
  const webhook = new ApprovalWebhook(runtime, policies, requests, null);
  enrolments = new Enrolments(runtime, { policies, requests, webhook, linkProblems: new LinkProblems(runtime) }, sign);
  tokens = new BootstrapTokens(runtime);
  linkProblems = new LinkProblems(runtime);
  identities = new StaticIdentities(runtime, {
    endpoints: ['127.0.0.1:7443'],
    signAgent: sign,
    trustBundle: () => testTrustBundle(authority),
    manifestFor: (cluster, bundle) => links.manifestWithoutToken(cluster, bundle),
  });
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
const tokensOf = async (name: string) => (await tokens.list('default', name)).tokens;

let count = 0;
async function newCluster(): Promise<{ id: string; name: string }> {
  count += 1;
  return clusters.create(api, 'default', {
    name: `c${count}`,
    ...ADOPTED,
  });
}

async function newCsr(): Promise<{ csr: string; fingerprint: string }> {
  const der = await createCsr(await generatePrivateKey());
  return { csr: Buffer.from(der).toString('base64'), fingerprint: (await checkCsr(der)).spkiSha256 };
}

const mint = (name: string): ReturnType<typeof mintBy> => mintBy(links, name);

const enrol = (token: { tokenId: string; secret: string }, csr: string): ReturnType<Enrolments['enrol']> =>
  enrolments.enrol(gateway, { ...token, csr, facts, remoteAddress: '127.0.0.1' });

const lastEvents = (limit: number): Promise<Envelope[]> => eventsOf(database, limit);

describe('bootstrap tokens', () => {
  it('are listed with their state and who used them, and never with their secret', async () => {
    const { name } = await newCluster();
    expect(await tokensOf(name)).toEqual([]);
    const first = await mint(name);
    const { csr, fingerprint } = await newCsr();
    await enrol(first, csr);
    aheadMs = 1_000;
    const second = await mint(name);
    const listed = await tokensOf(name);
    const usedBy = { fingerprint, generation: 1 };
    expect(new Map(listed.map(({ id, state }) => [id, state]))).toEqual(
      new Map([
        [second.tokenId, 'unused'],
        [first.tokenId, 'used'],
      ]),
    );
    expect(listed.find(({ id }) => id === first.tokenId)).toMatchObject({ cluster: name, usedBy, revokedAt: null });
    expect(JSON.stringify(listed)).not.toContain(second.secret);
    const stored = (await database.query('select secret_hash from bootstrap_tokens')) as { secret_hash: string }[];
    for (const { secret_hash: hash } of stored) expect(JSON.stringify(listed)).not.toContain(hash);
    aheadMs = 2 * 3_600_000;
    expect((await tokensOf(name)).map(({ state }) => state).sort()).toEqual(['expired', 'used']);
  });

  it('are listed in pages, none twice and none left out, while some go and others are made', async () => {
    const { id: clusterId, name } = await newCluster();
    // Several of the same millisecond, and of different microseconds within it.
    const make = (from: number, to: number): Promise<unknown> =>
      database.query(
        `insert into bootstrap_tokens (id, tenant_id, cluster_id, secret_hash, created_at, expires_at)
         select md5(n::text), 'default', $1, md5(n::text), now() - n * interval '137 microseconds', now() + interval '1 hour'
           from generate_series($2::int, $3::int) n`,
        [clusterId, from, to],
      );
    await make(1, 450);
    const ids = async (): Promise<string[]> => {
      const sql = 'select id from bootstrap_tokens where cluster_id = $1';
      const rows = await database.query<{ id: string }[]>(sql, [clusterId]);
      return rows.map(({ id }) => id);
    };
    const first = await tokens.list('default', name);
    const told = first.tokens.map(({ id }) => id);
    // The one that the next page begins after, and one that comes later.
    const late = (await ids()).find((id) => !told.includes(id));
    await database.query('delete from bootstrap_tokens where id = any($1)', [[told.at(-1), late]]);
    const expected = new Set([...told, ...(await ids())]);
    await make(0, 0);
    for (let next = first.next; next !== undefined;) {
      const page = await tokens.list('default', name, next);
      told.push(...page.tokens.map(({ id }) => id));
      next = page.next;
    }
    expect([told.length, new Set(told)]).toEqual([449, expected]);
    const again = await tokens.list('default', name);
    expect([told, again.tokens.map(({ id }) => id)]).toEqual([
      expect.not.arrayContaining([md5('0')]),
      expect.arrayContaining([md5('0')]),
    ]);
  });

  it('that are revoked let nobody in, and tell who revoked them', async () => {
    const { id: clusterId, name } = await newCluster();
    const token = await mint(name);
    const revoked = await tokens.revoke(api, 'default', { name, id: token.tokenId, by });
    expect(revoked).toMatchObject({ id: token.tokenId, state: 'revoked', usedBy: null });
    expect(await lastEvents(1)).toMatchObject([
      {
        type: 'dev.fairlead.token.revoked.v1',
        data: { clusterId, tokenId: token.tokenId, actor: { kind: 'user', id: by } },
      },
    ]);
    await expect(enrol(token, (await newCsr()).csr)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    // Again: no change, and no second event.
    expect(await tokens.revoke(api, 'default', { name, id: token.tokenId, by: 'bob' })).toEqual(revoked);
    const events = (await lastEvents(50)).filter(({ data }) => data['tokenId'] === token.tokenId);
    expect(events.filter(({ type }) => type === 'dev.fairlead.token.revoked.v1')).toHaveLength(1);
  });

  it('that are revoked after they were used answer not even the same key, and leave its enrolment alone', async () => {
    const { name } = await newCluster();
    const token = await mint(name);
    const { csr, fingerprint } = await newCsr();
    await enrol(token, csr);
    const revoked = await tokens.revoke(api, 'default', { name, id: token.tokenId, by });
    expect(revoked).toMatchObject({ state: 'revoked', usedBy: { fingerprint, generation: 1 } });
    await expect(enrol(token, csr)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    expect(await clusters.get('default', name)).toMatchObject({ generation: 1 });
  });

  it('are of their own cluster and tenant', async () => {
    const [one, other] = [await newCluster(), await newCluster()];
    const { tokenId: id } = await mint(one.name);
    const missing = { code: 'NOT_FOUND' };
    await expect(tokens.revoke(api, 'default', { name: other.name, id, by })).rejects.toMatchObject(missing);
    await expect(tokens.revoke(api, 'elsewhere', { name: one.name, id, by })).rejects.toMatchObject(missing);
    await expect(tokens.revoke(api, 'default', { name: one.name, id: 'no', by })).rejects.toMatchObject(missing);
    await expect(tokens.list('elsewhere', one.name)).rejects.toMatchObject(missing);
    expect(await tokensOf(one.name)).toMatchObject([{ id, state: 'unused' }]);
  });

  it('are spent or revoked, never both at once', async () => {
    const { name } = await newCluster();
    const token = await mint(name);
    const { csr } = await newCsr();
    const [enrolled] = await Promise.allSettled([
      enrol(token, csr),
      tokens.revoke(api, 'default', { name, id: token.tokenId, by }),
    ]);
    const [listed] = await tokensOf(name);
    expect([listed?.state, listed?.usedBy === null]).toEqual(['revoked', enrolled.status === 'rejected']);
  });
});

describe('identities that are handed out', () => {
  const issue = async (name: string, csr?: string): ReturnType<StaticIdentities['issue']> =>
    identities.issue(api, 'default', { name, csr: csr ?? (await newCsr()).csr, by });

  it('are a new enrolment, by whoever asked; unused tokens die with it', async () => {
    const { id: clusterId, name } = await newCluster();
    const unused = await mint(name);
    const { csr, fingerprint } = await newCsr();
    const issued = await issue(name, csr);
    expect(issued).toMatchObject({ cluster: name, clusterId, generation: 1, trustDomain: 'fairlead.local' });
    expect(issued).toMatchObject({ endpoints: ['127.0.0.1:7443'], roots: authority.roots });
    expect(issued.chain).toHaveLength(3);
    expect(issued.manifest).toContain('FAIRLEAD_IDENTITY_BUNDLE_FILE');
    for (const secret of ['fl1.', 'FAIRLEAD_ADOPTION', unused.secret]) expect(issued.manifest).not.toContain(secret);
    expect(await clusters.get('default', name)).toMatchObject({
      generation: 1,
      enrolledAt: expect.any(String) as string,
    });
    const actor = { kind: 'user', id: by };
    expect(await lastEvents(2)).toMatchObject([
      {
        type: 'dev.fairlead.enrolment.succeeded.v1',
        data: { clusterId, tokenId: 'static', generation: 1, spkiSha256: fingerprint, actor },
      },
      { type: 'dev.fairlead.token.revoked.v1', data: { tokenId: unused.tokenId, actor } },
    ]);
    await expect(enrol(unused, (await newCsr()).csr)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
  });

  it('fence the enrolment before them, and each other', async () => {
    const { name } = await newCluster();
    await enrol(await mint(name), (await newCsr()).csr);
    expect(await issue(name)).toMatchObject({ generation: 2 });
    const both = await Promise.all([issue(name), issue(name)]);
    // Whoever comes second with the lower number takes another one.
    const [first = 0, second = 0] = both.map(({ generation }) => generation).toSorted((a, b) => a - b);
    expect([first > 2, second > first]).toEqual([true, true]);
    expect(await clusters.get('default', name)).toMatchObject({ generation: second });
  });

  it('leave the agent of a cluster alone while they cannot be certified', async () => {
    const { name } = await newCluster();
    const token = await mint(name);
    keysAway = true;
    await expect(issue(name)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    keysAway = false;
    expect(await clusters.get('default', name)).toMatchObject({ generation: 0, enrolledAt: null });
    // Its token still counts. The number that the attempt had is not given again.
    expect(await enrol(token, (await newCsr()).csr)).toMatchObject({ generation: 2 });
  });

  it('whose answer is lost leave the agent alone, and give their number to nobody else', async () => {
    const { id: clusterId, name } = await newCluster();
    const token = await mint(name);
    const { csr } = await newCsr();
    await enrol(token, csr);
    answersLost = true;
    await expect(issue(name)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    answersLost = false;
    expect(await clusters.get('default', name)).toMatchObject({ generation: 1 });
    // The agent's own question is answered as before.
    expect(await enrol(token, csr)).toMatchObject({ generation: 1 });
    expect(await issue(name)).toMatchObject({ generation: 3 });
    answersLost = true;
    await expect(issue(name)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    answersLost = false;
    expect(await enrol(await mint(name), (await newCsr()).csr)).toMatchObject({ generation: 5 });
    const generations = signed.filter((each) => each.clusterId === clusterId).map(({ generation }) => generation);
    expect(generations).toEqual([1, 2, 1, 3, 4, 5]);
  });

  /** So many times, the cluster has enrolled with a higher number between the moment a number is reserved for an identity and its use. */
  async function overtaken(times: number): Promise<AsyncDisposable> {
    await database.query('create sequence overtakes');
    await database.query(`create function overtake() returns trigger language plpgsql as $$ begin
      if nextval('overtakes') <= ${times} then
        new.last_generation := new.last_generation + 1;
        new.generation := new.last_generation;
      end if;
      return new;
    end $$`);
    await database.query(`create trigger overtake before update on clusters for each row
      when (new.last_generation > old.last_generation and new.generation = old.generation) execute function overtake()`);
    return {
      [Symbol.asyncDispose]: async () => {
        await database.query('drop trigger overtake on clusters');
        await database.query('drop function overtake');
        await database.query('drop sequence overtakes');
      },
    };
  }

  it('take another number when the cluster has enrolled with a higher one meanwhile: keys is asked for no stale one', async () => {
    const { id: clusterId, name } = await newCluster();
    await using _ = await overtaken(2);
    expect(await issue(name)).toMatchObject({ generation: 5 });
    expect(await clusters.get('default', name)).toMatchObject({ generation: 5 });
    expect(signed.filter((each) => each.clusterId === clusterId)).toEqual([{ clusterId, generation: 5 }]);
  });

  it('give up where the cluster enrols again and again, and fence nobody', async () => {
    const { id: clusterId, name } = await newCluster();
    await using _ = await overtaken(3);
    await expect(issue(name)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await clusters.get('default', name)).toMatchObject({ generation: 6 });
    expect(signed.filter((each) => each.clusterId === clusterId)).toEqual([]);
  });

  it('whose answer is lost are revoked with their cluster', async () => {
    const { id: clusterId, name } = await newCluster();
    answersLost = true;
    await expect(issue(name)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    answersLost = false;
    await clusters.revoke(api, 'default', name, 'nobody knows where it went');
    expect(revoked.at(-1)).toMatchObject({ clusterId, throughGeneration: 1 });
    await expect(issue(name)).resolves.toMatchObject({ generation: 2 });
    await clusters.delete(api, 'default', name);
    expect(revoked.at(-1)).toMatchObject({ clusterId, throughGeneration: 2 });
  });

  it('are the way in where the policy rejects every agent that asks', async () => {
    const { name } = await newCluster();
    await policies.set(api, 'default', name, 'always-reject');
    await expect(enrol(await mint(name), (await newCsr()).csr)).rejects.toMatchObject({ code: 'ENROLMENT_REJECTED' });
    expect(await issue(name)).toMatchObject({ generation: 1 });
  });

  it('need a cluster of the tenant that asks, and a request with an acceptable key', async () => {
    const { name } = await newCluster();
    const { csr } = await newCsr();
    const elsewhere = identities.issue(api, 'elsewhere', { name, csr, by });
    await expect(elsewhere).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(issue('no-such')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(issue(name, Buffer.from('nonsense').toString('base64'))).rejects.toMatchObject({
      code: 'CSR_INVALID',
    });
    expect(await clusters.get('default', name)).toMatchObject({ generation: 0 });
  });
});

describe('an enrolment whose answer is lost', () => {
  it('is finished when the same key asks again, with its token or with an approval', async () => {
    const [byToken, approved] = [await newCluster(), await newCluster()];
    await policies.set(api, 'default', approved.name, 'queue');
    const waits = await mint(approved.name);
    const [first, second] = [await newCsr(), await newCsr()];
    const tokenOfFirst = await mint(byToken.name);
    await expect(enrol(waits, second.csr)).rejects.toMatchObject({ code: 'ENROLMENT_PENDING' });
    const requests = new EnrolmentRequests(runtime);
    const [request] = (await requests.list('default', { state: 'pending' })).requests;
    await requests.approve(api, 'default', request!.id);
    answersLost = true;
    await expect(enrol(tokenOfFirst, first.csr)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect(enrol(waits, second.csr)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    answersLost = false;
    expect(await enrol(tokenOfFirst, first.csr)).toMatchObject({ clusterId: byToken.id, generation: 1 });
    expect(await enrol(waits, second.csr)).toMatchObject({ clusterId: approved.id, generation: 1 });
  });
});

describe('the last error of a cluster', () => {
  const at = (seconds: number): string => new Date(1_700_000_000_000 + seconds * 1_000).toISOString();
  const lastErrorOf = async (name: string): Promise<unknown> =>
    (await clusters.get('default', name)).presence.lastError;

  it('is the newest that a gateway saw, whichever comes first, and says which gateway', async () => {
    const { id: clusterId, name } = await newCluster();
    expect(await lastErrorOf(name)).toBeNull();
    const problem = { clusterId, at: at(2), code: 'UNAVAILABLE', reason: 'it broke', address: '192.0.2.1' };
    await linkProblems.report(gateway, [problem, { ...problem, clusterId: randomUUID() }]);
    await linkProblems.report({ ...gateway, credential: 'gateway-b' }, [{ ...problem, at: at(1), reason: 'older' }]);
    const seen = { at: at(2), code: 'UNAVAILABLE', reason: 'it broke', address: '192.0.2.1', replica: 'gateway-a' };
    expect(await lastErrorOf(name)).toEqual(seen);
    await linkProblems.report(gateway, [{ ...problem, at: at(3), code: 'CERTIFICATE_REVOKED' }]);
    expect(await lastErrorOf(name)).toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  });

  it('is of no time to come, whatever a gateway says: that would hide all that follows', async () => {
    const { id: clusterId, name } = await newCluster();
    const future = {
      clusterId,
      at: '2999-01-01T00:00:00.000Z',
      code: 'UNAVAILABLE',
      reason: 'x',
      address: '192.0.2.1',
    };
    await linkProblems.report(gateway, [future]);
    const { at: recordedAt } = (await lastErrorOf(name)) as { at: string };
    expect(Date.parse(recordedAt) - Date.now()).toBeLessThan(365 * 86_400_000);
    await linkProblems.report(gateway, [{ ...future, code: 'CERTIFICATE_REVOKED' }]);
    expect(await lastErrorOf(name)).toMatchObject({ code: 'CERTIFICATE_REVOKED' });
  });

  it('is also a refused enrolment, but only of who has the right token', async () => {
    const { name } = await newCluster();
    const token = await mint(name);
    const guessed = { ...token, secret: randomBytes(32).toString('base64') };
    await expect(enrol(guessed, (await newCsr()).csr)).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    expect(await lastErrorOf(name)).toBeNull();
    await tokens.revoke(api, 'default', { name, id: token.tokenId, by });
    await expect(enrol(token, (await newCsr()).csr)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' });
    expect(await lastErrorOf(name)).toMatchObject({ code: 'TOKEN_REVOKED', address: '127.0.0.1', replica: '' });
  });
});
