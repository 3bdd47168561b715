import { X509Certificate } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { OpenPassage } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { createCsr, generatePrivateKey, parseSpiffeId } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_OPERATIONS } from './index.js';
import { checkedClient, problemOf, type Answer, type CheckedClient } from './testing/checked-client.js';
import { bootstrapToken, gatewayCertificates, waitingAgent } from './testing/enrolment-request.js';
import { TEST_CONNECT_DOORS, startScriptedApi, type ScriptedApi } from './testing/scripted-api.js';

let api: ScriptedApi;
let client: CheckedClient;
let document: CheckedClient['document'];

beforeAll(async () => {
  api = await startScriptedApi();
  client = await checkedClient(api);
  ({ document } = client);
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const ask: CheckedClient['ask'] = (...request) => client.ask(...request);

const newCsr = async (): Promise<string> => Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');

describe('clients', () => {
  it('are certified, listed and deleted, and told where to go', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'reached' } });
    const body = { name: 'prometheus', clusters: ['reached'], csr: await newCsr() };
    const made = await ask('POST', '/v1/clients', { body });
    expect(made).toMatchObject({ status: 201, json: { certificateAuthority: api.caPem, doors: TEST_CONNECT_DOORS } });
    const { client, chain } = made.json as unknown as { client: { id: string }; chain: string[] };
    const uri = new X509Certificate(chain[0] ?? '').subjectAltName?.replace('URI:', '') ?? '';
    expect(parseSpiffeId(uri)).toMatchObject({ kind: 'client', name: client.id });
    expect((await ask('GET', '/v1/clients')).json).toEqual({ clients: [client] });
    expect((await ask('GET', '/v1/clients?after=q')).json).toEqual({ clients: [] });
    const again = await ask('POST', '/v1/clients', { body: { ...body, csr: await newCsr() } });
    expect(again).toMatchObject({ status: 201, json: { client: { id: client.id } } });
    expect((await ask('POST', '/v1/clients', { body: { ...body, clusters: null } })).status).toBe(409);
    expect(await ask('DELETE', '/v1/clients/prometheus')).toMatchObject({ status: 204, text: '' });
    expect((await ask('DELETE', '/v1/clients/prometheus')).status).toBe(404);
    await ask('DELETE', '/v1/clusters/reached');
  });

  it('are refused for a cluster that is not and for a bad request', async () => {
    const body = { name: 'x', clusters: ['nowhere'], csr: await newCsr() };
    expect(problemOf(await ask('POST', '/v1/clients', { body }))).toMatchObject({ code: 'NOT_FOUND' });
    const junk = await ask('POST', '/v1/clients', { body: { ...body, clusters: null, csr: 'AAAA' } });
    expect(problemOf(junk)).toMatchObject({ code: 'CSR_INVALID' });
    const wrong = await ask('POST', '/v1/clients', { body: { ...body, clusters: ['No Name'] } });
    expect(problemOf(wrong).problems?.map(({ path }) => path)).toEqual(['body.clusters.0']);
  });

  it('may be of no cluster, and reach what they are granted', async () => {
    const body = { name: 'granted', clusters: [], csr: await newCsr() };
    expect((await ask('POST', '/v1/clients', { body })).json).toMatchObject({ client: { clusters: [] } });
  });
});

describe('lists that go by time', () => {
  const openPassage = (): OpenPassage => ({
    id: crypto.randomUUID(),
    kind: 'exec',
    gateway: 'gateway-a',
    owner: null,
    clusterId: crypto.randomUUID(),
    cluster: 'paged',
    user: 'corp:alice',
    as: null,
    address: '10.0.0.7',
    since: new Date().toISOString(),
    bytesUp: 0,
    bytesDown: 0,
    target: '',
  });

  it('come in pages: tokens, agents that wait and sessions', async () => {
    const { script } = api;
    for (const each of [1, 2, 3].map(() => bootstrapToken('paged'))) script.tokens.set(each.id, each);
    for (const each of [1, 2, 3].map((n) => waitingAgent({ fingerprint: `0${n}`.repeat(32) })))
      script.requests.set(each.id, each);
    script.passages.push(...[1, 2, 3].map(openPassage));
    script.pageSize = 2;
    for (const [path, items] of [
      ['/v1/clusters/paged/bootstrap-tokens', 'tokens'],
      ['/v1/enrolment-requests?state=pending', 'requests'],
      ['/v1/sessions?kind=exec', 'sessions'],
    ] as const) {
      const of = async (place?: string): Promise<{ ids: string[]; next: string | undefined }> => {
        const query = place === undefined ? '' : `${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(place)}`;
        const { json } = await ask('GET', path + query);
        const page = json as { next?: string } & Record<string, { id: string }[]>;
        return { ids: (page[items] ?? []).map(({ id }) => id), next: page.next };
      };
      const first = await of();
      const rest = await of(first.next);
      expect([items, first.ids.length, rest.ids.length, rest.next]).toEqual([items, 2, 1, undefined]);
      expect(new Set([...first.ids, ...rest.ids]).size).toBe(3);
      const bad = problemOf(await ask('GET', `${path}${path.includes('?') ? '&' : '?'}after=nonsense`));
      expect([bad.code, bad.problems]).toMatchObject(['INVALID_ARGUMENT', [{ path: 'query.after' }]]);
    }
    script.pageSize = 100;
    script.passages.length = 0;
    script.tokens.clear();
    script.requests.clear();
  });
});

describe('agents that wait', () => {
  it('are listed, approved and rejected', async () => {
    const [first, second] = [waitingAgent(), waitingAgent({ fingerprint: 'cd'.repeat(32) })];
    for (const each of [first, second]) api.script.requests.set(each.id, each);
    expect((await ask('GET', '/v1/enrolment-requests?state=pending')).json).toEqual({ requests: [first, second] });
    const approval = await ask('POST', `/v1/enrolment-requests/${first.id}/approval`, { body: { cluster: 'shop' } });
    expect(approval).toMatchObject({ status: 200, json: { state: 'approved', cluster: 'shop' } });
    const path = `/v1/enrolment-requests/${second.id}/rejection`;
    expect(problemOf(await ask('POST', path, { body: {} })).problems?.map((each) => each.path)).toEqual([
      'body.reason',
    ]);
    const rejection = await ask('POST', path, { body: { reason: 'not ours' } });
    expect(rejection).toMatchObject({ status: 200, json: { state: 'rejected', reason: 'not ours' } });
    expect((await ask('GET', '/v1/enrolment-requests?state=pending')).json).toEqual({ requests: [] });
    const bad = await ask('GET', '/v1/enrolment-requests?state=lost');
    expect(problemOf(bad)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const unknown = await ask('POST', `/v1/enrolment-requests/${crypto.randomUUID()}/approval`, { body: {} });
    expect(problemOf(unknown)).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are decided about by a policy, of all clusters or of one', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'strict' } });
    const all = '/v1/approval-policy';
    const one = '/v1/clusters/strict/approval-policy';
    expect((await ask('GET', all)).json).toEqual({ set: null, effective: 'token' });
    expect((await ask('PUT', all, { body: { policy: 'queue' } })).json).toEqual({ set: 'queue', effective: 'queue' });
    expect((await ask('GET', one)).json).toEqual({ set: null, effective: 'queue' });
    const chosen = await ask('PUT', one, { body: { policy: 'always-reject' } });
    expect(chosen.json).toEqual({ set: 'always-reject', effective: 'always-reject' });
    expect((await ask('PUT', one, { body: { policy: null } })).json).toEqual({ set: null, effective: 'queue' });
    const insecure = await ask('PUT', all, { body: { policy: 'insecure-always-approve' } });
    expect(problemOf(insecure)).toMatchObject({ code: 'FORBIDDEN' });
    expect((await ask('PUT', all, { body: { policy: 'everybody' } })).status).toBe(400);
    await ask('PUT', all, { body: { policy: null } });
    await ask('DELETE', '/v1/clusters/strict');
  });

  it('come with a manifest that is the same for all', async () => {
    const manifest = await ask('GET', '/v1/adoption-manifest');
    expect([manifest.status, manifest.headers['content-type']]).toEqual([200, 'text/yaml; charset=utf-8']);
    expect(manifest.text).toContain('kind: Namespace');
  });
});

describe('clusters', () => {
  it('are created, listed, shown and deleted', async () => {
    const created = await ask('POST', '/v1/clusters', { body: { name: 'demo', labels: { zone: 'eu' } } });
    expect(created).toMatchObject({ status: 201, json: { name: 'demo', links: 2, labels: { zone: 'eu' } } });
    expect((await ask('GET', '/v1/clusters')).json).toMatchObject({ clusters: [{ name: 'demo' }] });
    expect((await ask('GET', '/v1/clusters/demo')).json).toEqual(created.json);
    expect(await ask('DELETE', '/v1/clusters/demo')).toMatchObject({ status: 204, text: '' });
    // Whoever reads the audit log finds who did it.
    expect(api.script.clustersBy.slice(-2)).toEqual([api.script.principal.user, api.script.principal.user]);
    const gone = await ask('GET', '/v1/clusters/demo');
    expect(gone.status).toBe(404);
    expect(problemOf(gone)).toMatchObject({
      code: 'NOT_FOUND',
      next: expect.stringContaining('cluster list') as string,
    });
  });

  it('are changed in what their import manifests say, and in nothing else', async () => {
    const made = await ask('POST', '/v1/clusters', { body: { name: 'changed', labels: { zone: 'eu' } } });
    const egress = ['2222=git.example.com:22'];
    const patch = (body: object): Promise<Answer> => ask('PATCH', '/v1/clusters/changed', { body });
    expect((await patch({ gitops: true, egress })).json).toEqual({ ...made.json, gitops: true, egress });
    expect((await patch({ links: 1, egress: [] })).json).toEqual({ ...made.json, gitops: true, links: 1 });
    const bad = await patch({ manifestValues: { proxy: { httpsProxy: 'http://me:hidden@proxy:1' } } });
    expect(problemOf(bad).problems).toEqual([
      { path: 'body.manifestValues.proxy.httpsProxy', message: expect.stringContaining('http://HOST:PORT') as string },
    ]);
    expect(bad.text).not.toContain('hidden');
    expect((await patch({ labels: { zone: null, stage: 'prod' } })).json).toMatchObject({ labels: { stage: 'prod' } });
    expect(problemOf(await patch({ labels: { stage: 'a b' } })).problems).toMatchObject([
      { path: 'body.labels.stage' },
    ]);
    const listed = async (query: string): Promise<Answer> => ask('GET', `/v1/clusters?${encodeURI(query)}`);
    expect((await listed('selector=stage in (prod),!zone')).json).toMatchObject({ clusters: [{ name: 'changed' }] });
    expect((await listed('selector=stage=test')).json).toEqual({ clusters: [] });
    for (const bad of ['selector=a>b', 'status=gone', 'name=A', 'other=x'])
      expect((await listed(bad)).status).toBe(400);
    expect((await patch({ egress: ['22'] })).status).toBe(400);
    expect((await ask('PATCH', '/v1/clusters/nowhere', { body: {} })).status).toBe(404);
  });

  it('are cut off, for a reason', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'lost' } });
    const path = '/v1/clusters/lost/revocation';
    const cut = await ask('POST', path, { body: { reason: 'its laptop was stolen' } });
    expect(cut).toMatchObject({ status: 200, json: { name: 'lost' } });
    for (const body of [{}, { reason: '' }, { reason: 'x'.repeat(257) }, { reason: 'x', serial: 'ab' }]) {
      expect(problemOf(await ask('POST', path, { body }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    const missing = await ask('POST', '/v1/clusters/nowhere/revocation', { body: { reason: 'x' } });
    expect(problemOf(missing)).toMatchObject({ code: 'NOT_FOUND' });
    await ask('DELETE', '/v1/clusters/lost');
  });

  it('have certificates, which are listed and revoked one by one', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'certified' } });
    const serial = '0a'.repeat(16);
    const [notBefore, notAfter] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z'];
    const record = { serial, purpose: 'agent' as const, names: ['spiffe://x/y'], generation: 1, notBefore, notAfter };
    api.script.certificates.set(serial, { ...record, revokedAt: null, revokedFor: null });
    const listed = await ask('GET', '/v1/clusters/certified/certificates');
    expect(listed.json).toMatchObject({ certificates: [{ ...record, revokedAt: null }] });
    const second = { ...record, serial: '0c'.repeat(16), revokedAt: null, revokedFor: null };
    api.script.certificates.set(second.serial, second);
    api.script.certificatesListed = 1;
    expect((await ask('GET', '/v1/clusters/certified/certificates')).json).toMatchObject({ next: serial });
    const rest = await ask('GET', `/v1/clusters/certified/certificates?after=${serial}`);
    expect(rest.json).toEqual({ certificates: [second] });
    const noSerial = await ask('GET', '/v1/clusters/certified/certificates?after=first');
    expect(problemOf(noSerial).problems?.map(({ path }) => path)).toEqual(['query.after']);
    api.script.certificatesListed = 200;
    const revoked = await ask('POST', `/v1/certificates/${serial}/revocation`, { body: { reason: 'copied' } });
    expect(revoked).toMatchObject({ status: 200, json: { serial, revokedFor: 'copied' } });
    const unknown = await ask('POST', `/v1/certificates/${'0b'.repeat(16)}/revocation`, { body: { reason: 'x' } });
    expect(problemOf(unknown)).toMatchObject({ code: 'NOT_FOUND' });
    const bad = await ask('POST', '/v1/certificates/XYZ/revocation', { body: { reason: 'x' } });
    expect(problemOf(bad).problems?.map(({ path }) => path)).toEqual(['path.serial']);
    await ask('DELETE', '/v1/clusters/certified');
  });

  it('come after gateways, whose certificates are listed and revoked by their name', async () => {
    for (const each of gatewayCertificates()) api.script.certificates.set(each.serial, each);
    const listed = (await ask('GET', '/v1/gateways/certificates')).json as { certificates: unknown[] };
    expect(listed.certificates).toHaveLength(2);
    const rest = await ask('GET', `/v1/gateways/certificates?after=${'0e'.repeat(16)}`);
    expect(rest.json).toMatchObject({ certificates: [{ serial: '0f'.repeat(16) }] });
    const path = '/v1/gateways/gateway-a/revocation';
    const body = { reason: 'taken over' };
    expect((await ask('POST', path, { body })).json).toEqual({ revoked: 1, more: true });
    expect((await ask('POST', path, { body })).json).toEqual({ revoked: 1, more: false });
    const unknown = await ask('POST', '/v1/gateways/gateway-z/revocation', { body });
    expect(problemOf(unknown)).toMatchObject({ code: 'NOT_FOUND' });
    const bad = await ask('POST', '/v1/gateways/A_B/revocation', { body });
    expect(problemOf(bad).problems?.map(({ path: at }) => at)).toEqual(['path.name']);
    api.script.certificates.clear();
  });

  it('are named where the rotation of a root waits for them', async () => {
    const { json } = await ask('POST', '/v1/clusters', { body: { name: 'away' } });
    const prepared = await ask('POST', '/v1/ca/rotation');
    expect(prepared).toMatchObject({ status: 200, json: { trustVersion: 2, rotation: { step: 'prepared' } } });
    const waitedFor = {
      tenantId: 'default',
      heldVersion: 1,
      why: 'unacknowledged',
      waitedUntil: '2026-12-01T00:00:00.000Z',
    } as const;
    const { rotation } = api.script.ca;
    if (!rotation) throw new Error('there is no rotation');
    const waitingFor = [
      { ...waitedFor, clusterId: json['id'] as string },
      { ...waitedFor, clusterId: crypto.randomUUID(), tenantId: 'another' },
    ];
    api.script.ca = { ...api.script.ca, rotation: { ...rotation, clusters: 5, clustersDone: 3, waitingFor } };
    const shown = (await ask('GET', '/v1/ca')).json as { rotation: { waitingFor: { name: string | null }[] } };
    expect(shown.rotation.waitingFor.map(({ name }) => name)).toEqual(['away', null]);
    const refused = await ask('POST', '/v1/ca/rotation/activation', { body: {} });
    expect(problemOf(refused)).toMatchObject({ code: 'CONFLICT', detail: '2 clusters do not trust it yet' });
    const forced = await ask('POST', '/v1/ca/rotation/activation', { body: { force: true } });
    expect(forced.json).toMatchObject({ rotation: { step: 'activated' } });
    expect((await ask('POST', '/v1/ca/rotation/retirement', { body: {} })).json).toMatchObject({ rotation: null });
    expect((await ask('DELETE', '/v1/ca/rotation')).json).toMatchObject({ rotation: null });
    const bad = await ask('POST', '/v1/ca/rotation/retirement', { body: { force: 'yes' } });
    expect(problemOf(bad).problems?.map(({ path }) => path)).toEqual(['body.force']);
    await ask('DELETE', '/v1/clusters/away');
  });

  it('have bootstrap tokens, which are listed and revoked in the name of whoever asks', async () => {
    const token = bootstrapToken('tokens');
    api.script.tokens.set(token.id, token);
    const path = '/v1/clusters/tokens/bootstrap-tokens';
    expect((await ask('GET', path)).json).toEqual({ tokens: [token] });
    const revoked = await ask('POST', `${path}/${token.id}/revocation`);
    expect(revoked).toMatchObject({ status: 200, json: { id: token.id, state: 'revoked' } });
    expect(api.script.revokers).toEqual([api.script.principal.user]);
    const unknown = await ask('POST', `${path}/nothing/revocation`);
    expect(problemOf(unknown)).toMatchObject({ code: 'NOT_FOUND' });
    api.script.tokens.clear();
  });

  it('are given identities for keys that stay where they are', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'static' } });
    const csr = Buffer.from(await createCsr(await generatePrivateKey())).toString('base64');
    const path = '/v1/clusters/static/identities';
    const issued = await ask('POST', path, { body: { csr } });
    expect(issued).toMatchObject({ status: 201, json: { cluster: 'static', generation: 1 } });
    expect(issued.text).not.toContain('PRIVATE KEY');
    for (const body of [{}, { csr, by: 'somebody-else' }]) {
      expect(problemOf(await ask('POST', path, { body }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    const unknown = await ask('POST', '/v1/clusters/nowhere/identities', { body: { csr } });
    expect(problemOf(unknown)).toMatchObject({ code: 'NOT_FOUND' });
    await ask('DELETE', '/v1/clusters/static');
  });

  it('are listed in pages', async () => {
    for (const name of ['page-c', 'page-a', 'page-b']) await ask('POST', '/v1/clusters', { body: { name } });
    api.script.pageSize = 2;
    const first = await ask('GET', '/v1/clusters?after=page');
    expect(first.json).toMatchObject({ clusters: [{ name: 'page-a' }, { name: 'page-b' }], next: 'page-b' });
    const second = await ask('GET', '/v1/clusters?after=page-b');
    api.script.pageSize = 100;
    expect(second.json).toMatchObject({ clusters: [{ name: 'page-c' }] });
    const bad = await ask('GET', '/v1/clusters?after=NO&limit=1');
    expect(problemOf(bad).problems?.map((problem) => problem.path)).toEqual(['query.after', 'query']);
  });

  it('name what their agents may open, and nothing that no agent could read', async () => {
    const targets = ['10.0.0.0/8:10250', '*.shop.svc:443', '[fd00::/8]:1-1024', 'db.internal:*'];
    const created = await ask('POST', '/v1/clusters', { body: { name: 'open', targets } });
    expect(created).toMatchObject({ status: 201, json: { targets } });
    await ask('DELETE', '/v1/clusters/open');
    for (const bad of ['10.0.0.1', 'a:1,b:2', 'host:port', 'a b:1', 'x:1-']) {
      const refused = await ask('POST', '/v1/clusters', { body: { name: 'bad', targets: ['a:1', bad] } });
      expect(refused.status).toBe(400);
      expect(problemOf(refused).problems?.map(({ path }) => path)).toEqual(['body.targets.1']);
    }
  });

  it('have one name each', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'twice' } });
    const second = await ask('POST', '/v1/clusters', { body: { name: 'twice' } });
    expect(second.status).toBe(409);
    expect(problemOf(second)).toMatchObject({ code: 'ALREADY_EXISTS', retryable: false });
  });

  it('are told apart from what no cluster can be, field by field', async () => {
    const body = { name: 'No Such', labels: { zone: 7 }, links: 9, extra: true };
    const refused = await ask('POST', '/v1/clusters', { body });
    expect(refused.status).toBe(400);
    const paths = problemOf(refused).problems?.map((problem) => problem.path) ?? [];
    expect(paths).toEqual(expect.arrayContaining(['body.name', 'body.labels.zone', 'body.links', 'body']));
    const name = await ask('GET', '/v1/clusters/Not%20a%20name');
    expect(problemOf(name).problems?.[0]?.path).toBe('path.name');
  });

  it('tell where they are reached, with the root to trust', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'reach' } });
    const { json } = await ask('GET', '/v1/clusters/reach/access');
    expect(json).toMatchObject({ certificateAuthority: api.caPem, cluster: { name: 'reach' } });
    expect(json.doors).toEqual([
      { name: 'gateway-a', url: 'https://127.0.0.1:7443' },
      { name: 'gateway-b', url: 'https://127.0.0.1:7543' },
    ]);
    expect((await ask('GET', '/v1/clusters/nowhere/access')).status).toBe(404);
  });
});

describe('import links', () => {
  const makeLink = async (name: string): Promise<string> => {
    await ask('POST', '/v1/clusters', { body: { name } });
    const link = await ask('POST', `/v1/clusters/${name}/import-links`);
    expect(link.status).toBe(201);
    expect(String(link.json.url)).toMatch(new RegExp(`^${api.url}/import/`));
    return new URL(String(link.json.url)).pathname;
  };

  it('give the manifest to one GET, and nothing to HEAD', async () => {
    const path = await makeLink('imported');
    const head = await ask('HEAD', path, { token: null });
    expect(head).toMatchObject({ status: 405, text: '', headers: { allow: 'GET' } });
    expect((await ask('POST', path, { token: null })).status).toBe(405);
    const manifest = await ask('GET', path, { token: null });
    expect(manifest).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(manifest.headers['content-type']).toBe('text/yaml; charset=utf-8');
    expect(manifest.text).toContain('kind: Namespace');
    const again = await ask('GET', path, { token: null });
    expect(again.status).toBe(410);
    expect(problemOf(again)).toMatchObject({ code: 'GONE', next: expect.stringContaining('--link') as string });
  });

  it('survive a GET that fails', async () => {
    const path = await makeLink('retried');
    api.script.nextFailure = new FairleadError('UNAVAILABLE', 'the database is away');
    const failed = await ask('GET', path, { token: null });
    expect(failed).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    expect((await ask('GET', path, { token: null })).status).toBe(200);
  });

  it('never stand in a log, used or wrong', async () => {
    const path = await makeLink('secret');
    await ask('GET', `${path}?x=1`, { token: null });
    await ask('GET', path, { token: null });
    await ask('GET', `${path}/deeper`, { token: null });
    await ask('GET', `/IMPORT/${path.split('/').pop() ?? ''}`, { token: null });
    await ask('GET', `/import/${'x'.repeat(200)}`, { token: null });
    const code = path.split('/').pop() ?? 'none';
    await eventually(() => expect(api.logLines.join('')).toContain('"route":"/import/:code"'));
    expect(api.logLines.join('')).not.toContain(code);
    expect(api.logLines.join('')).not.toContain('xxxx');
  });

  it('cannot be guessed at leisure', async () => {
    const statuses: number[] = [];
    // However slow the machine is, in the end it asks more than so often a second.
    while (statuses.at(-1) !== 429 && statuses.length < 1_000) {
      statuses.push((await ask('GET', `/import/${'a'.repeat(43)}`, { token: null })).status);
    }
    expect(statuses[0]).toBe(404);
    expect(statuses.at(-1)).toBe(429);
  });
});

describe('authentication', () => {
  it('tells who one is', async () => {
    expect((await ask('GET', '/v1/whoami')).json).toEqual(api.script.principal);
  });

  it('is needed for every operation that is not marked public', async () => {
    for (const operation of ALL_OPERATIONS.filter((candidate) => candidate.auth !== 'public')) {
      const path = operation.path.replaceAll(/\{\w+\}/g, 'demo');
      const answer = await ask(operation.method, path, { token: null });
      expect([operation.id, answer.status]).toEqual([operation.id, 401]);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="fairlead"');
      const { path: _path, ...described } = {
        path,
        ...document.paths[operation.path]?.[operation.method.toLowerCase()],
      };
      const roles = operation.auth === 'administrator' ? undefined : [{ bearer: [operation.auth] }];
      expect([operation.id, (described as { security?: unknown[] }).security]).toEqual([operation.id, roles]);
    }
  });

  it('asks the access service once in a while, and never remembers a no', async () => {
    const before = api.script.authentications;
    // One after the other: what was remembered may end just now, and two at once would both ask then.
    await ask('GET', '/v1/whoami');
    await ask('GET', '/v1/whoami');
    expect(api.script.authentications - before).toBeLessThanOrEqual(1);
  });

  it('slows down an address that keeps failing, but not known tokens', async () => {
    const codes: string[] = [];
    while (codes.at(-1) !== 'RATE_LIMITED' && codes.length < 1_000) {
      codes.push(problemOf(await ask('GET', '/v1/whoami', { token: `wrong-token-number-${codes.length}` })).code);
    }
    expect(codes.at(-1)).toBe('RATE_LIMITED');
    expect((await ask('GET', '/v1/whoami')).status).toBe(200);
    expect(api.logLines.join('')).not.toContain('wrong-token');
    expect(api.logLines.join('')).not.toContain(api.script.token);
  });
});

describe('every error is a problem that helps', () => {
  it.each([
    ['GET', '/nothing', {}, 404, 'NOT_FOUND'],
    ['PUT', '/v1/clusters', { body: {} }, 405, 'INVALID_ARGUMENT'],
    ['HEAD', '/healthz', {}, 405, ''],
    ['POST', '/v1/clusters', { raw: 'name=x', headers: { 'content-type': 'text/plain' } }, 415, 'INVALID_ARGUMENT'],
    [
      'POST',
      '/v1/clusters',
      { raw: '{"name":', headers: { 'content-type': 'application/json' } },
      400,
      'INVALID_ARGUMENT',
    ],
    [
      'POST',
      '/v1/clusters',
      { raw: '{"__proto__":{}}', headers: { 'content-type': 'application/json' } },
      400,
      'INVALID_ARGUMENT',
    ],
    ['POST', '/v1/clusters', {}, 400, 'INVALID_ARGUMENT'],
    ['POST', '/v1/clusters', { body: [] }, 400, 'INVALID_ARGUMENT'],
    ['POST', '/v1/clusters', { body: { name: 'x'.repeat(70_000) } }, 413, 'TOO_LARGE'],
    ['GET', '/v1/clusters/%zz', {}, 400, 'INVALID_ARGUMENT'],
  ])('$0 $1: $3', async (method, path, options, status, code) => {
    const answer = await ask(method, path, options);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.headers['x-request-id']).toBeDefined();
    expect(answer.json.code ?? '').toBe(code);
  });

  it.each([
    [413, 'TOO_LARGE', 'application/json'],
    [415, 'INVALID_ARGUMENT', 'application/yaml'],
  ])('says %i (%s) to whoever sends slowly, and does not break off before it was sent', async (status, code, type) => {
    const socket = connectTls({ port: Number(new URL(api.url).port), host: '127.0.0.1', ca: api.caPem });
    const body = Buffer.alloc(200_000, ' ');
    const head = `POST /v1/clusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.script.token}\r\nContent-Type: ${type}`;
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n`);
    for (let at = 0; at < body.length; at += 20_000) {
      await delay(50);
      await new Promise<void>((resolve, reject) =>
        socket.write(body.subarray(at, at + 20_000), (error) => (error ? reject(error) : resolve())),
      );
    }
    const answer = await text(socket);
    expect([answer.slice(0, 12), answer.includes(`"code":"${code}"`)]).toEqual([`HTTP/1.1 ${status}`, true]);
  });

  it('hides what went wrong inside, and logs it', async () => {
    api.script.nextFailure = new Error('password=hunter2');
    const answer = await ask('GET', '/v1/clusters', { headers: { 'x-request-id': 'inside-1' } });
    expect(answer).toMatchObject({ status: 500, headers: { 'x-request-id': 'inside-1' } });
    expect(answer.text).not.toContain('hunter2');
    await eventually(() => expect(api.logLines.join('')).toMatch(/"requestId":"inside-1".*"event":"api.failed"/));
  });

  it('replaces a request id that could forge a log line', async () => {
    const answer = await ask('GET', '/v1/whoami', { headers: { 'x-request-id': 'a b"' } });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('says 503 and when to come back while registration is away, and recovers', async () => {
    await api.services.stopRegistration();
    const away = await ask('GET', '/v1/clusters');
    expect(away).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    expect(problemOf(away)).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    await api.services.startRegistration();
    await eventually(async () => expect((await ask('GET', '/v1/clusters')).status).toBe(200));
  });
});

describe('the description', () => {
  it('holds every operation, once, with its parameters', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    const ids = described.map(({ operation }) => operation.operationId);
    expect(ids.sort()).toEqual(ALL_OPERATIONS.map((operation) => operation.id).sort());
    for (const { path, operation } of described) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(inPath.map((parameter) => parameter.name)).toEqual(names);
    }
  });

  it('resolves all its references and leaves none unused', () => {
    const text = JSON.stringify(document);
    const used = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]));
    const known = Object.keys((document.components as { schemas: object }).schemas);
    expect(used).toEqual(new Set(known));
  });
});

describe('the listener', () => {
  it('answers health without a token', async () => {
    expect(await ask('GET', '/healthz', { token: null })).toMatchObject({ status: 200, text: 'ok\n' });
    expect((await ask('GET', '/readyz', { token: null })).json).toEqual({
      ready: true,
      checks: [{ name: 'nats', ok: true }],
    });
  });

  it('speaks TLS 1.3 only', async () => {
    const old = { host: '127.0.0.1', port: api.port, ca: api.caPem, maxVersion: 'TLSv1.2' as const };
    const failure = await new Promise<Error>((resolve, reject) => {
      const socket = connectTls(old, () => reject(new Error('TLS 1.2 was accepted')));
      socket.on('error', resolve);
    });
    expect(failure).toMatchObject({ code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
  });

  it('survives bytes that are neither TLS nor HTTP', async () => {
    const closed = new Promise<void>((resolve) => {
      const socket = connectTcp(api.port, '127.0.0.1', () => socket.write('GET / HTTP/1.0\r\n\r\n'));
      socket
        .on('error', () => undefined)
        .on('close', () => resolve())
        .resume();
    });
    await closed;
    const garbage = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connectTls({ host: '127.0.0.1', port: api.port, ca: api.caPem }, () =>
        socket.write('\0\0nonsense\r\n\r\n'),
      );
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => (text += String(chunk)))
        .on('close', () => resolve(text));
    });
    expect(garbage).toContain('application/problem+json');
    expect((await ask('GET', '/healthz')).status).toBe(200);
  });
});
