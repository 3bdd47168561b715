import { once } from 'node:events';
import { connect } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import { eventually } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callDoor, openDoor } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let api: RecordingApiServer;
let gateway: Replica;
/** Far longer than it takes, and far shorter than what else would end a watch. */
const MAX_MS = 30_000;
/** How long a token lives: on a machine that was too busy for a watch to begin before, the next one lives for longer. */
const LIVES_MS = [4_000, 20_000];

beforeAll(async () => {
  installation = await startInstallation();
  api = await startRecordingApiServer(installation.authority);
  gateway = await installation.startReplica('gateway-a');
  await installation.startAgent({ replicas: [gateway], apiPort: api.port });
  // A watch: the head of an answer, and events as they come; "/slow" never answers.
  api.handle = (request, response) => {
    if (request.url?.includes('slow')) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED"}\n');
  };
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const open: { destroy(): unknown }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

const WATCH = '/clusters/demo/api/v1/pods?watch=true';

async function knownToken(expiresAt?: Date): Promise<string> {
  const token = await installation.addToken({ user: 'alice', groups: [] }, expiresAt);
  await eventually(async () => {
    const { status } = await callDoor(installation, gateway, { token, path: '/clusters/none/' });
    if (status !== 404) throw new Error(`the replica has not heard of the token: ${status}`);
  });
  return token;
}

interface Watching {
  /** Resolves with true once it broke off; false for a clean end. */
  readonly broken: Promise<boolean>;
}

async function watch(token: string): Promise<Watching> {
  const outgoing = openDoor(installation, gateway, { token, path: WATCH });
  open.push(outgoing);
  outgoing.on('error', () => undefined);
  outgoing.end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  if (answer.statusCode !== 200) throw new Error(`the watch was answered ${answer.statusCode}`);
  await once(answer, 'data');
  answer.resume();
  return { broken: closed(answer).then(() => !answer.complete) };
}

/** A watch whose token expires after so long; undefined if that was over before the watch began. */
async function expiring(livesMs: number): Promise<Watching | undefined> {
  const endsMs = Date.now() + livesMs;
  try {
    return await watch(await knownToken(new Date(endsMs)));
  } catch (error) {
    if (Date.now() < endsMs) throw error;
    return undefined;
  }
}

async function watchHttp2(token: string): Promise<Watching> {
  const session = connect(`https://127.0.0.1:${gateway.gateway.door.port}`, { ca: [...installation.authority.roots] });
  open.push(session);
  const stream = session.request({ ':path': WATCH, authorization: `Bearer ${token}` });
  stream.on('error', () => undefined);
  await once(stream, 'data');
  stream.resume();
  return { broken: closed(stream).then(() => stream.rstCode !== 0) };
}

const closed = (stream: NodeJS.EventEmitter): Promise<void> =>
  new Promise((resolve) => void stream.once('close', () => resolve()));

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  const late = AbortSignal.timeout(ms);
  return Promise.race([
    promise,
    new Promise<never>((_, reject) => late.addEventListener('abort', () => reject(new Error(`not within ${ms} ms`)))),
  ]);
}

describe('a watch that goes on', () => {
  it.each([
    ['HTTP/1.1', watch],
    ['HTTP/2', watchHttp2],
  ])('is broken off when its token is deleted, and nobody else’s is (%s)', async (_, begin) => {
    const [token, other] = [await knownToken(), await knownToken()];
    const [watching, staying] = [await begin(token), await begin(other)];
    await installation.removeToken(token);
    expect(await within(watching.broken, MAX_MS)).toBe(true);
    const still = await Promise.race([staying.broken, Promise.resolve('goes on')]);
    expect(still).toBe('goes on');
    const ended = await gateway.registry.getSingleMetric('fairlead_gateway_access_ended_total')?.get();
    expect(ended?.values.some(({ labels, value }) => labels['code'] === 'UNAUTHENTICATED' && value > 0)).toBe(true);
  });

  it('is broken off when its token expires', async () => {
    for (const livesMs of LIVES_MS) {
      const watching = await expiring(livesMs);
      if (!watching) continue;
      expect(await within(watching.broken, livesMs + MAX_MS)).toBe(true);
      return;
    }
    expect.fail(`no watch began within ${Math.max(...LIVES_MS)} ms`);
  });

  it('is broken off when its cluster is deleted', async () => {
    const cluster = await installation.addCluster('deleted');
    await installation.startAgent({ replicas: [gateway], apiPort: api.port, cluster });
    const outgoing = openDoor(installation, gateway, { path: '/clusters/deleted/api/v1/pods?watch=true' });
    open.push(outgoing);
    outgoing.on('error', () => undefined);
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined).resume();
    const broken = closed(answer);
    await installation.removeCluster(cluster);
    await within(broken, MAX_MS);
    expect(answer.complete).toBe(false);
  });
});

it('an answer that the API server cuts off is an error over HTTP/2, never an end', async () => {
  const handle = api.handle;
  api.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED"}\n', () => response.destroy());
  };
  const { broken } = await watchHttp2(installation.token);
  expect(await within(broken, MAX_MS)).toBe(true);
  api.handle = handle;
});

it('a request that waits for its answer is told 401 when its token is deleted', async () => {
  const token = await knownToken();
  const answer = callDoor(installation, gateway, { token, path: '/clusters/demo/slow' });
  await eventually(() => expect(api.requests.some(({ url }) => url === '/slow')).toBe(true));
  await installation.removeToken(token);
  const { status, body } = await within(answer, MAX_MS);
  expect([status, body.includes('UNAUTHENTICATED')]).toEqual([401, true]);
});
