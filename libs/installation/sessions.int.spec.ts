import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { gatewayRpc, type PassageFilter, type PassagePage } from '@fairlead/contracts';
import { createRpcClient, type RpcClient } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { OpenPassages } from '@fairlead/registration';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { clientCertificate, connectThrough } from './connect-client.js';
import { openDoor } from './kube-client.js';
import { startRelayedCluster, type RelayedCluster } from './relayed-cluster.js';
import type { Replica } from './replicas.js';

const owned = new AsyncDisposableStack();
let cluster: RelayedCluster;
let rpc: RpcClient;
/** As registration knows them. */
let gateways: string[];
let passages: OpenPassages;
const tokens = new Map<string, string>();

beforeAll(async () => {
  cluster = owned.use(await startRelayedCluster({ allowTargets: ['127.0.0.1:*'] }));
  const { installation, api } = cluster;
  // A watch: the head of an answer, and nothing more; "/slow" never answers.
  api.handle = (request, response) => {
    if (request.url?.includes('slow')) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"type":"ADDED"}\n');
  };
  const caller = { role: 'registration', credential: 'registration' } as const;
  rpc = createRpcClient(await installation.nats.connect(caller), caller);
  passages = new OpenPassages({ rpc, gateways: () => gateways, logger: silentLogger });
  for (const user of ['alice', 'bob']) tokens.set(user, await installation.addToken({ user, groups: [] }));
});
afterAll(() => owned.disposeAsync());

const open: { destroy(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) each.destroy();
  gateways = ['gateway-a', 'gateway-b'];
  await eventually(async () => {
    const left = (await list()).passages.length;
    if (left > 0) throw new Error(`${left} passages are left`);
  });
});
gateways = ['gateway-a', 'gateway-b'];

const list = (filter: PassagePage = {}, tenantId = 'default') => passages.list(tenantId, filter);
const by = { by: 'admin', reason: 'the incident is over' };

interface Asking {
  readonly answer: Promise<IncomingMessage>;
  /** Resolves once it broke off. */
  readonly broken: Promise<void>;
}

/** A request that goes on. */
function ask(replica: Replica, user: string, path: string): Asking {
  const outgoing = openDoor(cluster.installation, replica, {
    token: tokens.get(user) ?? '',
    path: `/clusters/demo${path}`,
  });
  open.push(outgoing);
  outgoing.on('error', () => undefined);
  const answer = once(outgoing, 'response').then(([message]) =>
    (message as IncomingMessage).on('error', () => undefined),
  );
  // Not `once`, which takes the error of a broken answer for its own.
  const broken = answer.then((message) => new Promise<void>((resolve) => void message.resume().once('close', resolve)));
  outgoing.end();
  return { answer, broken };
}

const watch = async (
  replica: Replica,
  user: string,
  path = '/api/v1/namespaces/shop/pods?watch=true',
): Promise<Asking> => {
  const asking = ask(replica, user, path);
  expect((await asking.answer).statusCode).toBe(200);
  return asking;
};

it('tells who is where through which gateways, and what for', async () => {
  const { a, b, installation, target, through } = cluster;
  await watch(b, 'alice');
  await watch(a, 'bob', '/api/v1/namespaces/shop/pods/cart-0/log?follow=true');
  const tunnel = await through(b);
  open.push(tunnel.plain);
  const { passages: all, ...rest } = await list();
  expect(rest).toEqual({ more: 0, silent: [] });
  const { clusterId } = installation.cluster;
  const common = { clusterId, cluster: 'demo', as: null, address: '127.0.0.1', owner: 'gateway-a' };
  expect(all).toMatchObject([
    { ...common, kind: 'watch', user: 'alice', gateway: 'gateway-b', target: 'watch pods in the namespace "shop"' },
    {
      ...common,
      kind: 'log',
      user: 'bob',
      gateway: 'gateway-a',
      target: 'get pods/log in the namespace "shop": cart-0',
    },
    { ...common, kind: 'tunnel', gateway: 'gateway-b', target: `127.0.0.1:${target.port}` },
  ]);
  expect(all[0]?.bytesDown).toBeGreaterThan(0);
  const kinds = async (filter: PassageFilter, tenant?: string) =>
    (await list(filter, tenant)).passages.map(({ kind }) => kind);
  expect(await kinds({ user: 'bob' })).toEqual(['log']);
  expect(await kinds({ kind: 'watch', cluster: 'demo' })).toEqual(['watch']);
  expect(await kinds({ kind: 'watch', user: 'bob' })).toEqual([]);
  expect(await kinds({ cluster: 'another' })).toEqual([]);
  expect(await kinds({}, 'another')).toEqual([]);
});

it('ends one, and no other; and all of somebody', async () => {
  const { a, b } = cluster;
  const [first, second, bobs] = [await watch(a, 'alice'), await watch(b, 'alice'), await watch(b, 'bob')];
  const [oldest] = (await list()).passages;
  expect(await passages.end('another', { id: oldest?.id, ...by })).toEqual({ ended: 0, silent: [] });
  expect(await passages.end('default', { id: oldest?.id, ...by })).toEqual({ ended: 1, silent: [] });
  await first.broken;
  expect((await list()).passages.map(({ user }) => user)).toEqual(['alice', 'bob']);
  expect(await passages.end('default', { user: 'alice', ...by })).toEqual({ ended: 1, silent: [] });
  await second.broken;
  expect((await list()).passages.map(({ user }) => user)).toEqual(['bob']);
  expect(await passages.end('default', { cluster: 'demo', kind: 'watch', ...by })).toEqual({ ended: 1, silent: [] });
  await bobs.broken;
});

it('says why to whoever still waits for an answer', async () => {
  const waiting = ask(cluster.a, 'alice', '/slow');
  await eventually(async () => expect((await list()).passages).toHaveLength(1));
  await passages.end('default', { kind: 'request', ...by });
  const answer = await waiting.answer;
  expect([answer.statusCode, answer.headers.warning]).toEqual([
    403,
    expect.stringContaining('admin ended this session: the incident is over'),
  ]);
});

it('names a gateway that does not answer, and tells of the others', async () => {
  await watch(cluster.a, 'alice');
  gateways = ['gateway-a', 'gateway-c'];
  expect(await list()).toMatchObject({ passages: [{ user: 'alice' }], silent: ['gateway-c'] });
  expect(await passages.end('default', { user: 'alice', ...by })).toEqual({ ended: 1, silent: ['gateway-c'] });
});

it('tells all of them in pages, the oldest first, none twice and none left out while others end and begin', async () => {
  const certificate = await clientCertificate(
    cluster.installation.authority,
    (await cluster.installation.addClient([cluster.installation.cluster])).clientId,
  );
  const { authority } = cluster.installation;
  const target = `127.0.0.1:${cluster.target.port}`;
  const openTunnels = async (replica: Replica, count: number): Promise<void> => {
    const call = { authority, certificate, target, headers: [] };
    const answers = await Promise.all(Array.from({ length: count }, () => connectThrough(replica, call)));
    open.push(...answers.map(({ plain }) => plain));
  };
  // At both at once: many begin in the same millisecond.
  for (let opened = 0; opened < 160; opened += 20)
    await Promise.all([openTunnels(cluster.a, 20), openTunnels(cluster.b, 20)]);
  const filter = { kind: 'tunnel' } as const;
  const first = await list(filter);
  expect([first.passages.length, first.more]).toEqual([150, 170]);
  const second = await list({ ...filter, after: first.next });
  expect([second.passages.length, second.more]).toEqual([150, 20]);
  // The one that the next page begins after, one that comes later, and one that comes after all others.
  const ended = [first.passages.at(-1), second.passages[70]].map((each) => each?.id ?? '');
  for (const id of ended) expect(await passages.end('default', { id, ...by })).toEqual({ ended: 1, silent: [] });
  await eventually(async () => {
    for (const id of ended) expect((await list({ id })).passages).toEqual([]);
  });
  await openTunnels(cluster.a, 1);
  const told = [...first.passages];
  for (let next = first.next; next !== undefined;) {
    const page = await list({ ...filter, after: next });
    told.push(...page.passages);
    next = page.next;
  }
  const ids = told.map(({ id }) => id);
  expect([ids.length, new Set(ids).size, ids.includes(ended[1] ?? '')]).toEqual([320, 320, false]);
  expect(told.map(({ since }) => since)).toEqual(told.map(({ since }) => since).toSorted());
  expect(new Set(told.map(({ gateway }) => gateway))).toEqual(new Set(['gateway-a', 'gateway-b']));
});

it('is asked for by registration alone, and a gateway answers for nobody else', async () => {
  const { nats } = cluster.installation;
  for (const role of ['api', 'keys'] as const) {
    const caller = { role, credential: role };
    const other = createRpcClient(await nats.connect(caller), caller);
    const asked = other.call(gatewayRpc.listPassages, 'default', {}, { replica: 'gateway-a' });
    await expect(asked).rejects.toMatchObject({ code: 'FORBIDDEN' });
  }
  const gateway = await nats.connect({ role: 'gateway', credential: 'gateway-a' });
  const own = gateway.subscribe('fairlead.rpc.*.gateway.list-passages.*.*.gateway-a', { callback: () => undefined });
  const foreign = ['gateway-b', '*'].map((replica) =>
    gateway.subscribe(`fairlead.rpc.*.gateway.list-passages.*.*.${replica}`, { callback: () => undefined }),
  );
  await gateway.flush();
  expect([own, ...foreign].map((subscription) => subscription.isClosed())).toEqual([false, true, true]);
});
