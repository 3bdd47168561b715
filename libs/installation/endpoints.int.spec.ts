import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createLogger, type Logger } from '@fairlead/observability';
import type { LinkEndpoint } from '@fairlead/pki';
import { eventually } from '@fairlead/testing';
import { startBalancer } from '@fairlead/tunnel/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { callDoor, untilAnswered } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import type { Replica } from './replicas.js';
import type { RunningAgent } from './test-agent.js';

type Forwarder = Awaited<ReturnType<typeof startBalancer>>;

let pair: ReplicaPair;
let agent: RunningAgent | undefined;
/** Two addresses of gateway-a, and one of gateway-b. */
let addresses: [old: Forwarder, fresh: Forwarder, other: Forwarder];
let said: { event: string; endpoint?: string }[];
let logger: Logger;
let version = 1;

beforeAll(async () => {
  pair = await startReplicaPair();
});

beforeEach(async () => {
  said = [];
  logger = createLogger('agent', 'info', {
    write: (line: string) => void said.push(JSON.parse(line) as { event: string }),
  });
  const [a, b] = [pair.a.gateway.link.port, pair.b.gateway.link.port];
  addresses = [await startBalancer([a]), await startBalancer([a]), await startBalancer([b])];
});

afterEach(async () => {
  await agent?.stop();
  for (const each of addresses) await each[Symbol.asyncDispose]();
});

afterAll(() => pair?.[Symbol.asyncDispose]());

const addressOf = ({ port }: { readonly port: number }): string => `127.0.0.1:${port}`;
const active = (forwarder: { readonly port: number }, more: Partial<LinkEndpoint> = {}): LinkEndpoint => ({
  address: addressOf(forwarder),
  weight: 1,
  state: 'active',
  ...more,
});
const draining = (forwarder: Forwarder): LinkEndpoint => active(forwarder, { state: 'draining' });

/** As `keys` would after an operator changed them. */
async function name(...endpoints: LinkEndpoint[]): Promise<void> {
  version += 1;
  await pair.installation.publishTrust(await pair.installation.ca.bundle({ version, endpoints }));
}

type Options = Partial<Parameters<typeof pair.installation.startAgent>[0]>;

/** An agent whose manifest names these. */
const start = (own: readonly Forwarder[], options: Options = {}): Promise<RunningAgent> =>
  pair.installation.startAgent({
    replicas: [pair.a, pair.b],
    endpoints: own.map(addressOf),
    apiPort: pair.api.port,
    logger,
    // What earlier tests named is not told to it.
    trustVersion: version,
    ...options,
  });

/** The agent has stored what was named last. */
const takenUp = (): Promise<void> =>
  eventually(() => expect(identity()).toMatchObject({ trustVersion: version }), { intervalMs: 20 });
const identity = (): object => JSON.parse(agent?.stored['identity'] ?? '{}') as object;
const linkedAt = (forwarder: Forwarder): boolean =>
  said.findLast(({ event }) => event === 'link.established')?.endpoint === addressOf(forwarder);
const sessionsOf = (replica: Replica): unknown[] => (replica.gateway.debugView() as { sessions: unknown[] }).sessions;

/** Requests through both replicas, which nobody may repeat, until it is disposed of; every answer's status. */
function load(): AsyncDisposable & { readonly statuses: number[] } {
  const statuses: number[] = [];
  const over = new AbortController();
  const ask = async (replica: Replica): Promise<void> => {
    while (!over.signal.aborted) {
      const { status } = await callDoor(pair.installation, replica, { method: 'POST', body: '{}' });
      statuses.push(status);
    }
  };
  const asking = [pair.a, pair.a, pair.a, pair.b, pair.b, pair.b].map(ask);
  return {
    statuses,
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await Promise.all(asking);
    },
  };
}

/** An address of a gateway at which nothing passes before `goOn`. `asked`: its first connection came; `left`: has it ended? */
async function slowForwarder(target: number) {
  const [asked, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let left = false;
  const clients: Socket[] = [];
  const carry = async (client: Socket): Promise<void> => {
    clients.push(client);
    asked.resolve();
    client.once('close', () => (left = true)).on('error', () => undefined);
    await going.promise;
    const onward = connect({ port: target, host: '127.0.0.1' });
    onward.on('error', () => client.destroy()).once('close', () => client.destroy());
    client.once('close', () => onward.destroy());
    client.pipe(onward).pipe(client);
  };
  const server = createServer((client) => void carry(client));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): Promise<void> => {
    clients.forEach((client) => client.destroy());
    return new Promise((resolve) => server.close(() => resolve()));
  };
  const { port } = server.address() as AddressInfo;
  return { port, asked: asked.promise, left: () => left, goOn: going.resolve, [Symbol.asyncDispose]: close };
}

/** A request whose answer has begun, and does not end before it is told to. */
async function longRequest(): Promise<{ readonly end: () => void; readonly answer: Promise<string> }> {
  const begun = Promise.withResolvers<ServerResponse>();
  const { handle } = pair.api;
  pair.api.handle = (request, response) => {
    if (!request.url?.includes('watch')) return handle(request, response);
    response.write('begun, ');
    begun.resolve(response);
  };
  const answer = callDoor(pair.installation, pair.a, { path: '/clusters/demo/api/v1/pods?watch=1' }).then(
    ({ body }) => body,
  );
  const response = await begun.promise;
  return { answer, end: () => void response.end('ended') };
}

it('a gateway moves to another address under load: its agents go there before they leave, and no request fails', async () => {
  const [old, fresh] = addresses;
  agent = await start([old]);
  await untilAnswered(pair.installation, pair.a);
  await untilAnswered(pair.installation, pair.b);
  await name(active(old));
  await using asked = load();
  const long = await longRequest();
  await name(draining(old), active(fresh));
  await eventually(() => expect(linkedAt(fresh)).toBe(true));
  expect(said.map(({ event }) => event)).toContain('link.moving');
  // What began on the old link goes on there; only then it ends.
  expect(sessionsOf(pair.a)).toHaveLength(2);
  long.end();
  expect(await long.answer).toBe('begun, ended');
  await eventually(() => expect(sessionsOf(pair.a)).toHaveLength(1), { timeoutMs: 45_000 });
  await old[Symbol.asyncDispose]();
  const before = asked.statuses.length;
  await eventually(() => expect(asked.statuses.length).toBeGreaterThan(before + 20));
  expect(new Set(asked.statuses)).toEqual(new Set([200]));
});

it('an agent that ends takes no link any more that it was making: what runs ends on the old one, and nothing begins', async () => {
  const [old] = addresses;
  agent = await start([old], { drainMs: 30_000 });
  await untilAnswered(pair.installation, pair.a);
  await name(active(old));
  await takenUp();
  const long = await longRequest();
  await using slow = await slowForwarder(pair.a.gateway.link.port);
  await name(draining(old), active(slow));
  await slow.asked;
  const stopped = agent.stop();
  await eventually(() => expect(agent?.agent.readiness()[0]?.detail).toBe('ending'));
  slow.goOn();
  // The gateway has said Welcome on it, and hears at once that it is not wanted.
  await eventually(() => expect(slow.left()).toBe(true), { timeoutMs: 2_000, intervalMs: 20 });
  // What is between them passes that on a moment later.
  await eventually(() => expect(sessionsOf(pair.a)).toHaveLength(1));
  expect(said.map(({ event }) => event)).not.toContain('link.moving');
  long.end();
  expect(await long.answer).toBe('begun, ended');
  await stopped;
});

it('a restarted agent knows where the gateways have gone, though its manifest names only where they were', async () => {
  const [old, fresh] = addresses;
  agent = await start([old]);
  await name(active(fresh));
  await eventually(() =>
    expect(JSON.parse(agent?.stored['identity'] ?? '{}')).toMatchObject({ trustVersion: version }),
  );
  const { stored } = agent;
  await agent.stop();
  await old[Symbol.asyncDispose]();
  agent = await start([old], { stored });
  expect(linkedAt(fresh)).toBe(true);
  await untilAnswered(pair.installation, pair.b);
});

it('with a link each to two replicas, one endpoint at a time is drained, and both links stand all the while', async () => {
  const [old, fresh, other] = addresses;
  agent = await start([old, other], { links: 2 });
  await name(draining(old), active(fresh), active(other));
  await eventually(() => expect(linkedAt(fresh)).toBe(true));
  expect([sessionsOf(pair.a).length > 0, sessionsOf(pair.b).length]).toEqual([true, 1]);
  expect(agent.agent.readiness()[0]?.detail).toBe('2 of 2 links');
});

it('keeps the link it has where nobody answers at the new address, and the old address until a new one has worked', async () => {
  const [old, fresh, other] = addresses;
  await fresh[Symbol.asyncDispose]();
  agent = await start([other], { links: 1 });
  await name(active(old));
  await takenUp();
  await name(active(fresh), draining(other));
  await eventually(() => expect(said.map(({ event }) => event)).toContain('link.not_moved'), { timeoutMs: 20_000 });
  expect(sessionsOf(pair.b)).toHaveLength(1);
  await untilAnswered(pair.installation, pair.b);
  // The one that is named now does not work, so one that was named before is dialled in the end.
  await agent.stop();
  const { stored } = agent;
  await other[Symbol.asyncDispose]();
  expect(identity()).toMatchObject({
    formerEndpoints: expect.arrayContaining([{ address: addressOf(old) }]) as unknown[],
  });
  agent = await start([other], { stored });
  expect(linkedAt(old)).toBe(true);
});

it('goes by what it knew and by its manifest when nothing is named any more', async () => {
  const [old, fresh] = addresses;
  agent = await start([old]);
  await name(active(fresh));
  // It was never named: it stays as long as it stands.
  await eventually(() =>
    expect(JSON.parse(agent?.stored['identity'] ?? '{}')).toMatchObject({ trustVersion: version }),
  );
  expect(linkedAt(old)).toBe(true);
  await name();
  await takenUp();
  const { stored } = agent;
  await agent.stop();
  agent = await start([old], { stored });
  expect([linkedAt(old), linkedAt(fresh)]).toContain(true);
  await fresh[Symbol.asyncDispose]();
  await eventually(() => expect(linkedAt(old)).toBe(true));
});
