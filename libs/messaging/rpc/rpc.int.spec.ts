import 'reflect-metadata';
import { keysRpc, registrationRpc, rpcSubject } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { silentLogger, type LogFields, type Logger } from '@fairlead/observability';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { INestMicroservice } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RpcHandler, RpcServer, createRpcClient, type RpcClient, type RpcRequest, type RpcResult } from '../index.js';
import { startSecuredNats, type SecuredNats } from '../testing/secured-nats.js';

const api = { role: 'api', credential: 'api' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const cluster = {
  id: crypto.randomUUID(),
  tenantId: 'default',
  name: 'demo',
  labels: {},
  links: 2,
  generation: 0,
  createdAt: new Date().toISOString(),
  enrolledAt: null,
  presence: { state: 'never' as const, replicas: [], since: null, agents: [] },
};

let deleted: string[] = [];
let release: () => void = () => undefined;
/** Slow requests that came in. */
let slow = 0;

@Controller()
class DemoController {
  @RpcHandler(registrationRpc.getCluster)
  async getCluster(
    request: RpcRequest<typeof registrationRpc.getCluster>,
  ): RpcResult<typeof registrationRpc.getCluster> {
    if (request.input.name === 'slow') {
      slow += 1;
      await new Promise<void>((resolve) => (release = resolve));
    }
    if (request.input.name === 'missing') throw new FairleadError('NOT_FOUND', 'no such cluster');
    if (request.input.name === 'broken') throw new Error('password=hunter2');
    return {
      ...cluster,
      name: request.input.name,
      labels: { by: request.caller.credential, tenant: request.tenantId },
    };
  }

  @RpcHandler(registrationRpc.deleteCluster)
  async deleteCluster(
    request: RpcRequest<typeof registrationRpc.deleteCluster>,
  ): RpcResult<typeof registrationRpc.deleteCluster> {
    deleted.push(request.input.name);
    return {};
  }
}

@Module({ controllers: [DemoController] })
class DemoModule {}

let scratch: ScratchDir;
let nats: SecuredNats;
let apiConnection: NatsConnection;
let client: RpcClient;
const services: INestMicroservice[] = [];
const serviceConnections: NatsConnection[] = [];

const refusals: LogFields[] = [];
const logger: Logger = {
  ...silentLogger,
  log: (_level, event, fields = {}) => {
    if (event === 'rpc.refused') refusals.push(fields);
  },
};

async function serve(): Promise<void> {
  const connection = await nats.connect(registration);
  serviceConnections.push(connection);
  const strategy = new RpcServer({ connection, queue: 'registration', logger });
  const app = await NestFactory.createMicroservice(DemoModule, { strategy, logger: false });
  await app.listen();
  services.push(app);
}

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  apiConnection = await nats.connect(api);
  client = createRpcClient(apiConnection, api);
});
afterAll(async () => {
  await Promise.all(services.map((app) => app.close()));
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

const getCluster = (name: string): Promise<unknown> => client.call(registrationRpc.getCluster, 'default', { name });

it('says that nobody serves, and does not wait for the deadline', async () => {
  await expect(getCluster('demo')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

it('carries tenant, caller and input, and answers once for two instances', async () => {
  await serve();
  await serve();
  const answer = await client.call(registrationRpc.getCluster, 'default', { name: 'demo' });
  expect(answer).toMatchObject({ name: 'demo', labels: { by: 'api', tenant: 'default' } });
  deleted = [];
  await Promise.all(
    Array.from({ length: 50 }, (_, i) => client.call(registrationRpc.deleteCluster, 'default', { name: `c${i}` })),
  );
  expect(deleted).toHaveLength(50);
});

it('returns errors as they were thrown, and hides unknown ones', async () => {
  await expect(getCluster('missing')).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'no such cluster' });
  const hidden: unknown = await getCluster('broken').catch((error: unknown) => error);
  expect(hidden).toMatchObject({ code: 'INTERNAL' });
  expect(String(hidden)).not.toContain('hunter2');
});

it('refuses input that the contract does not allow', async () => {
  await expect(getCluster('No Such Name')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('refuses what is too large before sending it', async () => {
  await expect(getCluster('x'.repeat(300_000))).rejects.toMatchObject({ code: 'TOO_LARGE' });
});

it('does not run a request whose answer would go elsewhere than to the caller', async () => {
  deleted = [];
  const subject = rpcSubject(registrationRpc.deleteCluster, 'default', api);
  const packet = JSON.stringify({ id: 'x', pattern: 'x', data: { name: 'demo' } });
  apiConnection.publish(subject, packet, { reply: rpcSubject(keysRpc.signAgent, 'default', registration) });
  apiConnection.publish(subject, packet);
  apiConnection.publish(subject, 'not json', { reply: '_INBOX_api_api.x' });
  await client.call(registrationRpc.deleteCluster, 'default', { name: 'other' });
  expect(deleted).toEqual(['other']);
});

it('gives up at the deadline and when told to', async () => {
  const impatient = { ...registrationRpc.getCluster, timeoutMs: 200 };
  await expect(client.call(impatient, 'default', { name: 'slow' })).rejects.toMatchObject({
    code: 'DEADLINE_EXCEEDED',
  });
  await eventually(() => expect(slow).toBe(1));
  release();
  const stop = new AbortController();
  const waiting = client.call(registrationRpc.getCluster, 'default', { name: 'slow' }, { signal: stop.signal });
  const reason = new Error('the user went away');
  const outcome = waiting.catch((error: unknown) => error);
  await eventually(() => expect(slow).toBe(2));
  stop.abort(reason);
  expect(await outcome).toBe(reason);
  release();
});

it('fails fast while NATS is down, and works again by itself', async () => {
  const before = slow;
  const waiting = getCluster('slow').catch((error: unknown) => error);
  await eventually(() => expect(slow).toBe(before + 1));
  nats.server.kill('SIGKILL');
  expect(await waiting).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  release();
  // Not DEADLINE_EXCEEDED: it was not sent at all.
  await expect(getCluster('demo')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await nats.server.restart();
  await eventually(() => getCluster('demo'), { timeoutMs: 60_000 });
});

it('has few log lines of what a caller is refused for the same reason, and says how many are missing', async () => {
  // Each comes back in its own time after NATS was down: one alone would write one instance's share of the lines.
  await eventually(() => Promise.all(serviceConnections.map((connection) => connection.flush())), {
    timeoutMs: 60_000,
  });
  refusals.length = 0;
  const startedMs = performance.now();
  for (let asked = 0; asked < 500; asked += 1) await getCluster('missing').catch(() => undefined);
  // Two instances, each with a hundred at once and two a second.
  const most = 2 * (100 + 2 * Math.ceil((performance.now() - startedMs) / 1_000) + 1);
  expect(refusals.length).toBeGreaterThanOrEqual(190);
  expect(refusals.length).toBeLessThanOrEqual(most);
  await eventually(async () => {
    await getCluster('missing').catch(() => undefined);
    expect(refusals.some(({ suppressed }) => Number(suppressed) > 0)).toBe(true);
  });
  refusals.length = 0;
  await getCluster('broken').catch(() => undefined);
  expect(refusals).toMatchObject([{ code: 'INTERNAL' }]);
});
