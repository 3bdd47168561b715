import { createHash, randomBytes } from 'node:crypto';
import { request as requestTls } from 'node:https';
import { connect } from 'node:tls';
import { FairleadError } from '@fairlead/errors';
import { eventually } from '@fairlead/testing';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkedClient, problemOf, type Answer, type CheckedClient } from './testing/checked-client.js';
import {
  clusterGitOps,
  deployKey,
  hostKey,
  installerReport,
  rollout,
  startScriptedApi,
  type ScriptedApi,
} from './testing/scripted-api.js';

const SHOWN = `ssh-ed25519 ${'A'.repeat(68)}`;
const OTHER = `ssh-ed25519 ${'B'.repeat(68)}`;
const GITEA = { kind: 'gitea', url: 'https://git.example.com' };

let api: ScriptedApi;
let client: CheckedClient;
const ask: CheckedClient['ask'] = (...each) => client.ask(...each);
const pathsOf = (answer: Answer): string[] => problemOf(answer).problems?.map(({ path }) => path) ?? [];

beforeAll(async () => {
  api = await startScriptedApi();
  client = await checkedClient(api);
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  const { script } = api;
  for (const each of [script.gitHosts, script.repositories, script.bundles, script.assignments]) each.clear();
  for (const each of [script.rollouts, script.statuses, script.clusters]) each.clear();
  script.actors.length = 0;
  script.pieceFailure = undefined;
});

describe('Git hosts', () => {
  it('take a token and never show it', async () => {
    const token = randomBytes(20).toString('hex');
    const made = await ask('PUT', '/v1/git-hosts/main', { body: { ...GITEA, token } });
    expect(made).toMatchObject({ status: 200, json: { name: 'main', hasToken: true, sshHost: 'git.example.com' } });
    expect(api.script.gitTokens).toContain(token);
    expect(api.script.actors).toEqual([api.script.principal.user]);
    const shown = await ask('GET', '/v1/git-hosts/main');
    expect(shown.json).toEqual(made.json);
    const kept = await ask('PUT', '/v1/git-hosts/main', { body: { ...GITEA, sshPort: 2222 } });
    expect(kept.json).toMatchObject({ sshPort: 2222, hasToken: true });
    const refused = await ask('PUT', '/v1/git-hosts/main', { body: { ...GITEA, token: `${token} ` } });
    expect(pathsOf(refused)).toEqual(['body.token']);
    const listed = await ask('GET', '/v1/git-hosts');
    await eventually(() => expect(api.logLines.join('')).toContain('"route":"/v1/git-hosts"'));
    for (const text of [made, shown, kept, refused, listed].map((answer) => answer.text)) {
      expect(text).not.toContain(token);
    }
    expect(api.logLines.join('')).not.toContain(token);
  });

  it('are refused with what the token lacks, and what to do', async () => {
    const answer = await ask('PUT', '/v1/git-hosts/main', { body: { ...GITEA, token: 'refused-token' } });
    expect(answer.status).toBe(502);
    expect(problemOf(answer)).toMatchObject({
      code: 'GIT_RIGHTS_MISSING',
      detail: 'the token lacks write:repository',
      next: expect.stringContaining('docs/gitops.md') as string,
    });
    const bad = await ask('PUT', '/v1/git-hosts/main', { body: { kind: 'svn', url: 'http://x', actor: 'me' } });
    expect(pathsOf(bad)).toEqual(expect.arrayContaining(['body.kind', 'body.url', 'body']));
    expect(problemOf(await ask('GET', '/v1/git-hosts/none'))).toMatchObject({
      code: 'NOT_FOUND',
      next: expect.stringContaining('fairlead git-host list') as string,
    });
  });

  it('show their keys, of which one approval makes a set', async () => {
    await ask('PUT', '/v1/git-hosts/main', { body: GITEA });
    api.script.shownHostKeys = [SHOWN];
    const scanned = await ask('POST', '/v1/git-hosts/main/host-keys/scan');
    const { fingerprint } = hostKey(SHOWN);
    expect(scanned.json).toMatchObject({ hostKeys: [{ fingerprint, state: 'proposed' }] });
    const path = '/v1/git-hosts/main/host-keys/approval';
    const unknown = await ask('POST', path, { body: { fingerprints: ['SHA256:other'] } });
    expect(problemOf(unknown)).toMatchObject({ code: 'NOT_FOUND', next: expect.stringContaining('scan') as string });
    const approved = await ask('POST', path, { body: { fingerprints: [fingerprint] } });
    expect(approved.json).toMatchObject({ hostKeys: [{ state: 'approved', decidedBy: api.script.principal.user }] });
    const given = { fingerprints: [hostKey(OTHER).fingerprint], keys: [OTHER] };
    expect((await ask('POST', path, { body: given })).json).toMatchObject({
      hostKeys: [{ state: 'withdrawn' }, { state: 'approved' }],
    });
    expect((await ask('POST', path, { body: { fingerprints: [] } })).status).toBe(400);
  });

  it('are kept while a catalog repository needs them', async () => {
    await ask('PUT', '/v1/git-hosts/main', { body: GITEA });
    const repository = { name: 'catalog', gitHost: 'main', path: 'platform/catalog' };
    await ask('POST', '/v1/catalog-repositories', { body: repository });
    expect(problemOf(await ask('DELETE', '/v1/git-hosts/main'))).toMatchObject({ code: 'CONFLICT' });
    expect((await ask('DELETE', '/v1/catalog-repositories/catalog')).status).toBe(204);
    expect((await ask('DELETE', '/v1/git-hosts/main')).status).toBe(204);
  });
});

describe('catalog repositories', () => {
  it('are added, listed and removed', async () => {
    await ask('PUT', '/v1/git-hosts/main', { body: GITEA });
    const body = { name: 'catalog', gitHost: 'main', path: 'platform/missing' };
    expect(problemOf(await ask('POST', '/v1/catalog-repositories', { body }))).toMatchObject({
      code: 'NOT_FOUND',
      next: expect.stringContaining('--create') as string,
    });
    const added = await ask('POST', '/v1/catalog-repositories', { body: { ...body, create: true } });
    expect(added).toMatchObject({ status: 201, json: { name: 'catalog', defaultBranch: 'main' } });
    expect((await ask('GET', '/v1/catalog-repositories')).json).toEqual({ repositories: [added.json] });
    expect(added.json).toMatchObject({ rotateKeysEverySeconds: 7_776_000 });
    const never = { body: { ...body, create: true, rotateKeysEverySeconds: null } };
    expect((await ask('POST', '/v1/catalog-repositories', never)).json).toMatchObject({ rotateKeysEverySeconds: null });
    const often = { body: { ...body, create: true, rotateKeysEverySeconds: 60 } };
    expect((await ask('POST', '/v1/catalog-repositories', often)).status).toBe(400);
    const bad = await ask('POST', '/v1/catalog-repositories', { body: { ...body, path: '../etc' } });
    expect(pathsOf(bad)).toEqual(['body.path']);
    expect((await ask('DELETE', '/v1/catalog-repositories/nothing')).status).toBe(404);
  });
});

describe('bundles', () => {
  const digestOf = (yaml: Buffer): string => createHash('sha256').update(yaml).digest('hex');
  const yamlType = { 'content-type': 'application/yaml' };
  const put = (yaml: Buffer | string, digest: string, headers: Record<string, string> = yamlType): Promise<Answer> =>
    ask('PUT', `/v1/bundles/flux/v2.7.3?digest=${digest}&origin=install.yaml`, { raw: yaml, headers });

  it('arrive whole, in pieces, whatever their size', async () => {
    for (const bytes of [1, 131_072, 131_073, 1_000_000]) {
      api.script.bundles.clear();
      const yaml = randomBytes(bytes);
      const kept = await put(yaml, digestOf(yaml));
      expect(kept).toMatchObject({
        status: 201,
        json: { tool: 'flux', version: 'v2.7.3', bytes, origin: 'install.yaml' },
      });
      expect(api.script.bundleBytes.equals(yaml)).toBe(true);
    }
    expect((await ask('GET', '/v1/bundles')).json).toMatchObject({ bundles: [{ importedBy: 'admin' }] });
    expect((await ask('DELETE', '/v1/bundles/flux/v2.7.3')).status).toBe(204);
    expect((await ask('DELETE', '/v1/bundles/flux/v2.7.3')).status).toBe(404);
  });

  it('are refused for what they are not', async () => {
    const yaml = Buffer.from('kind: Namespace\n');
    expect(problemOf(await put(yaml, 'ab'.repeat(32)))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      next: expect.stringContaining('install manifest') as string,
    });
    expect(pathsOf(await put(yaml, 'nothing'))).toEqual(['query.digest']);
    const json = await put(yaml, digestOf(yaml), { 'content-type': 'application/json' });
    expect(json.status).toBe(400);
    const text = await put(yaml, digestOf(yaml), { 'content-type': 'text/plain' });
    expect(text.status).toBe(415);
    expect(problemOf(text).next).toContain('application/yaml');
    expect((await put('', digestOf(yaml))).status).toBe(400);
    expect((await put(yaml, digestOf(yaml))).status).toBe(201);
    const other = Buffer.from('kind: Other\n');
    expect(problemOf(await put(other, digestOf(other)))).toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('take no room once whoever sent them is gone, or they were refused', async () => {
    const { uploads } = api.script;
    const before = api.logLines.length;
    const yaml = Buffer.from('kind: Namespace\n');
    await put(yaml, 'ab'.repeat(32));
    expect(uploads.size).toBe(0);
    const digest = digestOf(randomBytes(1));
    const sending = requestTls(`${api.url}/v1/bundles/flux/v9?digest=${digest}`, {
      method: 'PUT',
      ca: api.caPem,
      headers: { ...yamlType, authorization: `Bearer ${api.script.token}`, 'content-length': '1000000' },
    });
    sending.on('error', () => undefined);
    sending.write(randomBytes(300_000));
    await eventually(() => expect([...uploads.values()].flat().length).toBeGreaterThan(1));
    sending.destroy();
    await eventually(() => expect(uploads.size).toBe(0));
    await ask('GET', '/v1/bundles');
    expect(api.logLines.slice(before).join('')).not.toContain('api.failed');
  });

  it('are not sent anew because the one who reads them is busy', async () => {
    api.script.busyFinishes = 2;
    const yaml = randomBytes(200_000);
    expect((await put(yaml, digestOf(yaml))).status).toBe(201);
    expect(api.script.busyFinishes).toBe(0);
    expect(api.script.bundleBytes.equals(yaml)).toBe(true);
  });

  it('are answered once where they are refused on their way, and the connection ends then', async () => {
    api.script.pieceFailure = new FairleadError('UNAVAILABLE', 'as the test wants it');
    const whole = await put(randomBytes(400_000), 'ab'.repeat(32));
    expect([whole.status, problemOf(whole).code]).toEqual([503, 'UNAVAILABLE']);
    const { hostname, port } = new URL(api.url);
    const socket = connect({ host: hostname, port: Number(port), ca: api.caPem });
    const said: Buffer[] = [];
    socket.on('data', (bytes: Buffer) => said.push(bytes)).on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const head = [
      `PUT /v1/bundles/flux/v9?digest=${'ab'.repeat(32)} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${api.script.token}`,
      'Content-Type: application/yaml',
      'Content-Length: 1000000',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // Not all of it, and nothing more.
    socket.write(randomBytes(400_000));
    await closed;
    const answers = Buffer.concat(said).toString();
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503']);
    expect(answers.toLowerCase()).toContain('connection: close');
  });

  it('are bounded before they are read', async () => {
    const dispatcher = new Agent({ connect: { ca: api.caPem } });
    const huge = await request(`${api.url}/v1/bundles/flux/v9?digest=${'ab'.repeat(32)}`, {
      method: 'PUT',
      dispatcher,
      headers: { ...yamlType, authorization: `Bearer ${api.script.token}` },
      body: Buffer.alloc(16 * 1_048_576 + 1),
    });
    expect([huge.statusCode, ((await huge.body.json()) as { code: string }).code]).toEqual([413, 'TOO_LARGE']);
    await dispatcher.close();
  });

  it('are YAML only where they are taken', async () => {
    const elsewhere = await ask('POST', '/v1/clusters', { raw: 'name: x', headers: yamlType });
    expect(elsewhere.status).toBe(415);
  });

  it('are fetched from a URL whose digest is known', async () => {
    const path = '/v1/bundles/argocd/v3.1.16/import';
    const body = { url: 'https://example.com/install.yaml', digest: 'cd'.repeat(32) };
    expect(await ask('POST', path, { body })).toMatchObject({
      status: 201,
      json: { origin: body.url, tool: 'argocd' },
    });
    const plain = await ask('POST', path, { body: { ...body, url: 'http://example.com/x' } });
    expect(pathsOf(plain)).toEqual(['body.url']);
  });
});

describe('assignments', () => {
  const body = { selector: { cluster: 'demo' }, tool: 'flux', bundleVersion: 'v2.7.3', repository: null };
  const path = '/v1/gitops/assignments/demo';
  const importFlux = (): Promise<Answer> =>
    ask('POST', '/v1/bundles/flux/v2.7.3/import', { body: { url: 'https://example.com/x', digest: 'ab'.repeat(32) } });

  it('are put, shown and removed', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'demo' } });
    expect(problemOf(await ask('PUT', path, { body }))).toMatchObject({
      code: 'NOT_FOUND',
      next: expect.stringContaining('fairlead bundle list') as string,
    });
    await importFlux();
    const made = await ask('PUT', path, { body });
    expect(made).toMatchObject({
      status: 200,
      json: { name: 'demo', path: 'clusters/{cluster}', rollout: { waves: [1, '10%', '50%'] }, priority: 100 },
    });
    expect((await ask('GET', path)).json).toEqual(made.json);
    expect((await ask('GET', '/v1/gitops/assignments')).json).toEqual({ assignments: [made.json] });
    expect((await ask('DELETE', `${path}?remove=tool`)).status).toBe(204);
    expect(api.script.removals).toEqual(['tool']);
    expect((await ask('DELETE', path)).status).toBe(404);
    expect((await ask('GET', path)).status).toBe(404);
  });

  it('are changed only as long as they are what somebody has seen, if that is said', async () => {
    await ask('POST', '/v1/clusters', { body: { name: 'demo' } });
    await importFlux();
    const put = (priority: number, headers = {}): Promise<Answer> =>
      ask('PUT', path, { body: { ...body, priority }, headers });
    const made = await put(1, { 'if-none-match': '*' });
    const etag = String(made.headers['etag']);
    expect(etag).toBe(`"${String(made.json['revision'])}"`);
    expect((await ask('GET', path)).headers['etag']).toBe(etag);
    expect((await put(2, { 'if-match': etag })).status).toBe(200);
    for (const headers of [{ 'if-match': etag }, { 'if-none-match': '*' }]) {
      const late = await put(3, headers);
      expect(late.status).toBe(412);
      expect(problemOf(late)).toMatchObject({
        code: 'REVISION_CONFLICT',
        retryable: false,
        next: expect.stringContaining('fairlead gitops show') as string,
      });
    }
    expect((await ask('DELETE', path, { headers: { 'if-match': etag } })).status).toBe(412);
    expect((await put(4, { 'if-match': '4' })).status).toBe(400);
    expect((await put(5)).json).toMatchObject({ priority: 5 });
    const { parameters = [] } = client.document.paths['/v1/gitops/assignments/{name}']?.['put'] ?? {};
    expect(parameters.map(({ name }) => name)).toEqual(['name', 'If-Match', 'If-None-Match', 'Fairlead-Tenant']);
    const { etag: listed } = (await ask('GET', '/v1/gitops/assignments')).headers;
    expect(listed).toBeUndefined();
  });

  it('are refused for a field that nobody knows, however deep', async () => {
    const refuse = async (rest: object): Promise<string[]> =>
      pathsOf(await ask('PUT', path, { body: { ...body, ...rest } }));
    expect(await refuse({ actor: 'me' })).toEqual(['body']);
    expect(await refuse({ rollout: { wave: [1] } })).toEqual(['body.rollout']);
    expect(await refuse({ selector: { cluster: 'demo', labels: { a: 'b' } } })).toEqual(['body.selector']);
    expect(await refuse({ selector: { labels: {} } })).not.toEqual([]);
    expect(await refuse({ rollout: { waves: ['200%'] } })).not.toEqual([]);
  });
});

describe('rollouts and the breaker', () => {
  it('are listed and steered', async () => {
    const running = rollout('demo');
    const done = rollout('old', { state: 'done', endedAt: new Date().toISOString() });
    for (const each of [running, done]) api.script.rollouts.set(each.id, each);
    expect((await ask('GET', '/v1/gitops/rollouts')).json).toEqual({ rollouts: [running, done] });
    const path = `/v1/gitops/rollouts/${running.id}/steps`;
    expect((await ask('POST', path, { body: { step: 'pause' } })).json).toMatchObject({ state: 'paused' });
    expect((await ask('POST', path, { body: { step: 'hurry' } })).status).toBe(400);
    api.script.pageSize = 1;
    const first = (await ask('GET', '/v1/gitops/rollouts')).json as { rollouts: { id: string }[]; next: string };
    const second = (await ask('GET', `/v1/gitops/rollouts?after=${first.next}`)).json as typeof first;
    api.script.pageSize = 100;
    expect([...first.rollouts, ...second.rollouts].map(({ id }) => id)).toEqual([running.id, done.id]);
    expect((await ask('GET', '/v1/gitops/rollouts?after=nonsense')).status).toBe(400);
    const late = await ask('POST', `/v1/gitops/rollouts/${done.id}/steps`, { body: { step: 'abort' } });
    expect(problemOf(late)).toMatchObject({
      code: 'CONFLICT',
      next: expect.stringContaining('rollout list') as string,
    });
  });

  it('the breaker is shown, and closed in the name of whoever asks', async () => {
    const open = { state: 'open', code: 'IMAGE_PULL', clusters: 9, of: 10, since: new Date().toISOString() } as const;
    api.script.breaker = open;
    expect((await ask('GET', '/v1/gitops/breaker')).json).toEqual(open);
    expect((await ask('POST', '/v1/gitops/breaker/reset')).json).toMatchObject({ state: 'closed' });
    expect(api.script.actors).toEqual(['admin']);
  });
});

describe('clusters', () => {
  it('tell what is wanted of them and how they are, in pages', async () => {
    const report = installerReport(3, {
      problem: { code: 'GIT_AUTH', message: 'no', since: new Date().toISOString() },
    });
    for (const name of ['b', 'a', 'c']) {
      api.script.statuses.set(name, clusterGitOps(name, { report, revision: 3, health: 'drifted' }));
    }
    api.script.pageSize = 2;
    const first = await ask('GET', '/v1/gitops/clusters');
    expect(first.json).toMatchObject({ clusters: [{ name: 'a' }, { name: 'b' }], next: 'b' });
    expect((await ask('GET', '/v1/gitops/clusters?after=b')).json).toMatchObject({ clusters: [{ name: 'c' }] });
    api.script.pageSize = 100;
    expect((await ask('GET', '/v1/clusters/a/gitops')).json).toMatchObject({
      health: 'drifted',
      report: { phase: 'healthy' },
    });
    expect((await ask('GET', '/v1/clusters/nowhere/gitops')).status).toBe(404);
  });

  it('tell what their installers did, and have their deploy keys rotated', async () => {
    api.script.statuses.set('a', clusterGitOps('a'));
    const event = {
      sequence: 1,
      at: new Date().toISOString(),
      step: 'restarted',
      object: 'Deployment x',
      message: 'y',
    } as const;
    api.script.gitopsEvents = [event];
    expect((await ask('GET', '/v1/clusters/a/gitops/events')).json).toEqual({ events: [event] });
    expect((await ask('POST', '/v1/clusters/a/gitops/deploy-key-rotation')).json).toMatchObject({ name: 'a' });
    const compromised = '/v1/clusters/a/gitops/deploy-key-rotation?reason=compromise';
    expect((await ask('POST', compromised)).status).toBe(200);
    expect((await ask('POST', compromised.replace('compromise', 'schedule'))).status).toBe(400);
    expect(api.script.rotations).toEqual(['a demand', 'a compromise']);
    expect(api.script.actors).toEqual(['admin', 'admin']);
  });

  it('have deploy keys, of which some are added by hand', async () => {
    const { json } = await ask('POST', '/v1/clusters', { body: { name: 'demo' } });
    const key = deployKey(json['id'] as string);
    api.script.deployKeys.push(key, deployKey(crypto.randomUUID()));
    expect((await ask('GET', '/v1/clusters/demo/gitops/deploy-keys')).json).toEqual({ keys: [key] });
    expect((await ask('GET', '/v1/clusters/nowhere/gitops/deploy-keys')).status).toBe(404);
  });
});
