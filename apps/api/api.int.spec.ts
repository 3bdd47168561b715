import { readFile } from 'node:fs/promises';
import { connectNats } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { startStack, type Stack } from '@fairlead/stack';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';

interface Answer {
  readonly status: number;
  readonly retryAfter: string | string[] | undefined;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

let scratch: ScratchDir;
let stack: Stack;
let agent: Agent;
let token: string;

beforeAll(async () => {
  scratch = await scratchDir();
  stack = await startStack({
    stateDir: scratch.file('state'),
    basePort: 0,
    demo: false,
    logLevel: 'debug',
    durable: false,
  });
  agent = new Agent({ connect: { ca: await readFile(stack.api.caFile, 'utf8') } });
  token = (await readFile(stack.api.adminTokenFile, 'utf8')).trim();
});

afterAll(async () => {
  await agent?.close();
  await stack?.stop();
  await scratch?.[Symbol.asyncDispose]();
});

async function ask(method: 'GET' | 'HEAD' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer> {
  const response = await request(new URL(path, stack.api.url), {
    method,
    dispatcher: agent,
    headers: {
      ...(path.startsWith('/import/') ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.body.text();
  const json = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], text, json };
}

const logOf = (name: string): Promise<string> => readFile(stack.process(name).logPath, 'utf8');

describe('with the real registration and keys', () => {
  it('keeps clusters', async () => {
    expect((await ask('GET', '/v1/whoami')).json).toMatchObject({
      groups: expect.arrayContaining(['fairlead:admins']) as string[],
    });
    expect(await ask('POST', '/v1/clusters', { name: 'one', labels: { zone: 'eu' } })).toMatchObject({ status: 201 });
    expect(await ask('POST', '/v1/clusters', { name: 'one' })).toMatchObject({ status: 409 });
    expect((await ask('GET', '/v1/clusters/one')).json).toMatchObject({ links: 2, presence: { state: 'never' } });
    const access = await ask('GET', '/v1/clusters/one/access');
    expect(access.json).toMatchObject({
      doors: stack.gateways.map(({ name, doorUrl: url }) => ({ name, url })),
      certificateAuthority: await readFile(stack.api.caFile, 'utf8'),
    });
    expect(await ask('DELETE', '/v1/clusters/one')).toMatchObject({ status: 204 });
    expect(await ask('GET', '/v1/clusters/one')).toMatchObject({ status: 404, json: { code: 'NOT_FOUND' } });
    expect(await ask('DELETE', '/v1/clusters/one')).toMatchObject({ status: 404 });
  });

  it('gives an import manifest to one GET, whatever came before', async () => {
    await ask('POST', '/v1/clusters', { name: 'two' });
    const link = await ask('POST', '/v1/clusters/two/import-links');
    const path = new URL(String(link.json.url)).pathname;
    expect(await ask('HEAD', path)).toMatchObject({ status: 405 });
    expect(await ask('GET', `${path}x`)).toMatchObject({ status: 404 });
    const manifest = await ask('GET', path);
    expect(manifest.status).toBe(200);
    const kinds = parseAllDocuments(manifest.text).map((document) => (document.toJS() as { kind: string }).kind);
    expect(kinds).toEqual(expect.arrayContaining(['Namespace', 'Secret', 'Deployment', 'ServiceAccount']));
    expect(await ask('GET', path)).toMatchObject({ status: 410, json: { code: 'GONE' } });
    const code = path.split('/').pop() ?? 'none';
    for (const name of ['api', 'registration', 'nats']) expect(await logOf(name)).not.toContain(code);
    expect(await logOf('api')).not.toContain(token);
  });

  it('spends nothing on a GET that comes while registration is away, and recovers', async () => {
    const link = await ask('POST', '/v1/clusters/two/import-links');
    const path = new URL(String(link.json.url)).pathname;
    const registration = stack.process('registration');
    registration.supervise = false;
    registration.kill('SIGKILL');
    await eventually(async () => {
      expect(await ask('GET', path)).toMatchObject({ status: 503, retryAfter: '2', json: { code: 'UNAVAILABLE' } });
    });
    registration.supervise = true;
    await registration.restart();
    await eventually(async () => expect(await ask('GET', path)).toMatchObject({ status: 200 }), { timeoutMs: 60_000 });
  });

  it('serves the command, from login to kubeconfig', async () => {
    const created = await stack.cli(['cluster', 'create', 'three', '--label', 'a=b']);
    expect(created).toMatchObject({ code: 0, stdout: 'cluster three created\n', stderr: '' });
    expect((await stack.cli(['cluster', 'list'])).stdout).toMatch(/^NAME .*\nthree +never/m);
    expect((await stack.cli(['kubeconfig', 'three'])).stdout).toContain(`/clusters/three`);
    expect((await stack.cli(['cluster', 'import', 'three'])).stdout).toContain('kind: Deployment');
    expect(await stack.cli(['cluster', 'delete', 'three'])).toMatchObject({ code: 2 });
    expect(await stack.cli(['cluster', 'delete', 'three', '--yes'])).toMatchObject({ code: 0 });
    expect((await stack.cli(['cluster', 'show', 'three'])).stderr).toMatch(/^error: .*\nnext: .*\n$/);
  });

  it("cannot call what is not the api's to call", async () => {
    const state = stack.stateDir;
    const connection = await connectNats({
      role: 'api',
      credential: 'api',
      ...stack.nats,
      seedFile: `${state}/secrets/nats-api.seed`,
      logger: silentLogger,
      signal: AbortSignal.timeout(60_000),
    });
    try {
      const subject = 'fairlead.rpc._.keys.sign-agent.api.api';
      await expect(connection.request(subject, '{}', { timeout: 20_000 })).rejects.toThrow(/permission|responders/i);
    } finally {
      await connection.close();
    }
  });
});
