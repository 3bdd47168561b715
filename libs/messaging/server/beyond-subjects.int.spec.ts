import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AccessEntry, BUCKETS, registrationRpc, rpcSubject } from '@fairlead/contracts';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deleteKv, putKv, watchBucket, type Holder } from '../index.js';
import { startSecuredNats, type SecuredNats } from '../testing/secured-nats.js';

const gatewayA = { role: 'gateway', credential: 'gateway-a' } as const;
const gatewayB = { role: 'gateway', credential: 'gateway-b' } as const;
const api = { role: 'api', credential: 'api' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const operator = { role: 'operator', credential: 'operator' } as const;

let scratch: ScratchDir;
let nats: SecuredNats;
const connections = new Map<string, NatsConnection>();
const as = (holder: Holder): NatsConnection => connections.get(holder.credential)!;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  for (const holder of [gatewayA, gatewayB, registration, operator]) {
    connections.set(holder.credential, await nats.connect(holder));
  }
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

describe('making JetStream write for the attacker', () => {
  it.each([
    ['a request of the api', rpcSubject(registrationRpc.deleteCluster, 'default', api), 'registration'],
    ['an entry of another bucket', `$KV.${BUCKETS.access}.default.token.forged`, ''],
  ])('does not let a consumer deliver its entries as %s', async (_, subject, group) => {
    const heard: string[] = [];
    const pattern = 'fairlead.rpc.*.registration.delete-cluster.*.*';
    const callback = (error: Error | null, message: Msg): void => void (error ?? heard.push(message.subject));
    const service = as(registration).subscribe(pattern, { queue: 'registration', callback });
    await as(registration).flush();
    await putKv(as(gatewayA), BUCKETS.routes, 'session.gateway-a.forged', { id: 'x', data: { name: 'demo' } });
    await forgeConsumer(subject, group);
    const access = await messagesIn(`KV_${BUCKETS.access}`);
    // Whatever the server would deliver is delivered before it answers a later request on the same connection.
    await as(gatewayA).flush();
    await delay(300);
    expect(heard).toEqual([]);
    expect(await messagesIn(`KV_${BUCKETS.access}`)).toBe(access);
    service.unsubscribe();
  });
});

/**
 * NATS checks no permission on a reply subject, so an acknowledgement can be sent into another bucket, and so can an answer of
 * JetStream's API, which repeats words of who asked. Neither has the shape of an entry: readers refuse it, and the bucket's
 * owner writes the entry again as soon as it sees it.
 */
it('lets an acknowledgement land in another bucket, where readers refuse it and keep what they had', async () => {
  const entry = {
    user: 'ada',
    groups: ['fairlead:admins'],
    tenantId: 'default',
    tokenId: randomUUID(),
    tokenHash: 'a'.repeat(64),
    expiresAt: null,
  };
  await putKv(as(registration), BUCKETS.access, 'default.token.x', entry);
  const access = watchBucket(as(gatewayB), BUCKETS.access, AccessEntry);
  await access.loaded;
  const held = [...access.entries()];
  expect(held).toHaveLength(1);
  const before = await overwritesOf(`KV_${BUCKETS.access}`);
  const reply = `$KV.${BUCKETS.access}.default.token.x`;
  as(gatewayA).publish(`$KV.${BUCKETS.routes}.session.gateway-a.x`, '{}', { reply });
  await eventually(async () => expect(await overwritesOf(`KV_${BUCKETS.access}`)).toBe(before + 1));
  // Whatever comes later shows that the acknowledgement was seen.
  await putKv(as(registration), BUCKETS.access, 'default.token.y', entry);
  await eventually(() => expect(access.get('default.token.y')).toBeDefined());
  expect(access.get('default.token.x')).toEqual(held[0]![1]);
  await access.close();
});

/** Whoever writes a key chooses its headers too: one with the status of a heartbeat is an entry all the same. */
it('does not let an entry with the header of a heartbeat end what others watch', async () => {
  const key = 'session.gateway-a.status';
  await jetstream(as(gatewayA)).publish(`$KV.${BUCKETS.routes}.${key}`, '{}', {
    headers: headers(100, 'Idle Heartbeat'),
  });
  const routes = watchBucket(as(gatewayB), BUCKETS.routes, z.object({}));
  await routes.loaded;
  await putKv(as(gatewayA), BUCKETS.routes, 'session.gateway-a.later', {});
  await eventually(() => expect(routes.get('session.gateway-a.later')).toEqual({}));
  expect(routes.get(key)).toEqual({});
  await jetstream(as(gatewayA)).publish(`$KV.${BUCKETS.routes}.${key}`, '{"n":1}', { headers: headers(100, 'x') });
  await deleteKv(as(gatewayA), BUCKETS.routes, 'session.gateway-a.later');
  await eventually(() => expect(routes.get('session.gateway-a.later')).toBeUndefined());
  await routes.close();
});

/** NATS checks no permission on headers either: one of these could have taken every key of the bucket. */
it('does not let one gateway wipe what the others wrote', async () => {
  await putKv(as(gatewayB), BUCKETS.routes, 'session.gateway-b.kept', {});
  const before = await messagesIn(`KV_${BUCKETS.routes}`);
  for (const scope of ['all', 'sub']) {
    const rollup = headers();
    rollup.set('Nats-Rollup', scope);
    const subject = `$KV.${BUCKETS.routes}.session.gateway-a.x`;
    await expect(jetstream(as(gatewayA)).publish(subject, '', { headers: rollup })).rejects.toThrow(/rollup/);
  }
  expect(await messagesIn(`KV_${BUCKETS.routes}`)).toBe(before);
});

it('keeps one message of a key, and none of its value once it is deleted', async () => {
  const before = await messagesIn(`KV_${BUCKETS.routes}`);
  const key = 'session.gateway-a.deleted';
  for (const value of [{ a: 1 }, { a: 2 }]) await putKv(as(gatewayA), BUCKETS.routes, key, value);
  await deleteKv(as(gatewayA), BUCKETS.routes, key);
  expect(await messagesIn(`KV_${BUCKETS.routes}`)).toBe(before + 1);
});

async function forgeConsumer(deliverSubject: string, group: string): Promise<void> {
  const stream = `KV_${BUCKETS.routes}`;
  const filter = `$KV.${BUCKETS.routes}.>`;
  const config = {
    name: `forged${Date.now()}`,
    filter_subject: filter,
    deliver_subject: deliverSubject,
    ...(group ? { deliver_group: group } : {}),
    ack_policy: 'none',
    deliver_policy: 'all',
  };
  const body = JSON.stringify({ stream_name: stream, config, action: 'create' });
  await as(gatewayA).request(`$JS.API.CONSUMER.CREATE.${stream}.${config.name}.${filter}`, body, { timeout: 20_000 });
}

async function overwritesOf(stream: string): Promise<number> {
  const manager = await jetstreamManager(as(operator));
  return (await manager.streams.info(stream)).state.last_seq;
}

async function messagesIn(stream: string): Promise<number> {
  const manager = await jetstreamManager(as(operator));
  return (await manager.streams.info(stream)).state.messages;
}
