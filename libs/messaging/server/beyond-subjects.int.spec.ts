import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { BUCKETS, registrationRpc, rpcSubject } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EVENT_STREAM, deleteKv, inboxPrefix, putKv, watchBucket, type Holder } from '../index.js';
import { STREAMS_API } from '../kv/bucket-feed.js';
import { connectedNats, gatewayA, gatewayB, operator } from '../testing/secured-nats.js';

const api = { role: 'api', credential: 'api' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;

let nats: Awaited<ReturnType<typeof connectedNats>>;
const as = (holder: Holder): NatsConnection => nats.as(holder);

beforeAll(async () => {
  nats = await connectedNats([gatewayA, gatewayB, registration, operator]);
});
afterAll(() => nats?.[Symbol.asyncDispose]());

/** Streams that no gateway writes its acknowledgements or answers into. */
const FOREIGN = [`KV_${BUCKETS.revocations}`, `KV_${BUCKETS.access}`, EVENT_STREAM] as const;

/** Subjects in the streams' account that nobody may have JetStream write to for them. */
const LANDINGS = [
  `$KV.${BUCKETS.revocations}.landed`,
  `$KV.${BUCKETS.access}.default.token.landed`,
  'fairlead.events.default.keys.landed',
  `$JS.API.STREAM.DELETE.KV_${BUCKETS.revocations}`,
];
/** One in the account of the processes. A reply gets there, and is refused as no request (rpc.int.spec.ts). */
const REQUEST = rpcSubject(registrationRpc.deleteCluster, 'default', api);

describe.each(LANDINGS)('making JetStream write to %s', (landing) => {
  it('by the reply subject of an entry', async () => {
    const landed = await landedBy(() => {
      as(gatewayA).publish(`$KV.${BUCKETS.routes}.session.gateway-a.x`, '{}', { reply: landing });
    });
    expect(landed).toEqual(NOTHING);
  });

  it('by the reply subject of a request whose answer repeats its words', async () => {
    const landed = await landedBy(() => {
      const { subject, body } = consumerRequest(`${inboxPrefix(gatewayA)}.unheard`);
      as(gatewayA).publish(subject, body, { reply: landing });
    });
    expect(landed).toEqual(NOTHING);
  });
});

it.each([...LANDINGS, REQUEST])('does not let a consumer deliver to %s', async (landing) => {
  const landed = await landedBy(async () => {
    const { subject, body } = consumerRequest(landing);
    const answer = await as(gatewayA).request(subject, body, { timeout: 20_000 });
    // The server takes the consumer. It delivers nothing: nobody listens on exactly this subject (nats-server issue 8274).
    expect(answer.json<{ error?: unknown }>().error).toBeUndefined();
  });
  expect(landed).toEqual(NOTHING);
});

/** That the consumers of these tests would deliver, and when. */
it('lets a consumer deliver its entries to the inbox of who made it', async () => {
  const inbox = `${inboxPrefix(gatewayA)}.delivered`;
  const heard: string[] = [];
  const own = as(gatewayA).subscribe(inbox, {
    callback: (error, message) => void (error ?? heard.push(message.subject)),
  });
  const { subject, body } = consumerRequest(inbox);
  await as(gatewayA).request(subject, body, { timeout: 20_000 });
  await eventually(() => expect(heard).toContain(`$KV.${BUCKETS.routes}.session.gateway-a.forged`));
  own.unsubscribe();
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

interface Landed {
  /** Subjects of requests that a service heard. */
  readonly requests: readonly string[];
  /** How many entries the foreign streams have more than before. */
  readonly entries: number;
}
const NOTHING: Landed = { requests: [], entries: 0 };

async function landedBy(attack: () => Promise<void> | void): Promise<Landed> {
  const requests: string[] = [];
  const service = as(registration).subscribe('fairlead.rpc.*.registration.delete-cluster.*.*', {
    queue: 'registration',
    callback: (error, message) => void (error ?? requests.push(message.subject)),
  });
  await as(registration).flush();
  await putKv(as(gatewayA), BUCKETS.routes, 'session.gateway-a.forged', { id: 'x', data: { name: 'demo' } });
  const before = await writtenInto(FOREIGN);
  await attack();
  // Answered after the attack was, on the same connection; the rest is what an acknowledgement takes on its way.
  await putKv(as(gatewayA), BUCKETS.routes, 'session.gateway-a.later', {});
  await delay(300);
  service.unsubscribe();
  return { requests, entries: (await writtenInto(FOREIGN)) - before };
}

/** Asks for a consumer of the routes that delivers to a subject of the asker's choice. */
function consumerRequest(deliverSubject: string): { readonly subject: string; readonly body: string } {
  const stream = `KV_${BUCKETS.routes}`;
  const filter = `$KV.${BUCKETS.routes}.>`;
  const name = `forged-${randomUUID()}`;
  const config = {
    name,
    filter_subject: filter,
    deliver_subject: deliverSubject,
    ack_policy: 'none',
    deliver_policy: 'all',
    idle_heartbeat: 100_000_000,
  };
  const body = JSON.stringify({ stream_name: stream, config, action: 'create' });
  return { subject: `${STREAMS_API}.CONSUMER.CREATE.${stream}.${name}.${filter}`, body };
}

/** How much was ever written into these streams: an overwritten key counts, too. Throws if one is gone. */
async function writtenInto(streams: readonly string[]): Promise<number> {
  const manager = await jetstreamManager(as(operator));
  const infos = await Promise.all(streams.map((stream) => manager.streams.info(stream)));
  return infos.reduce((sum, { state }) => sum + state.last_seq, 0);
}

async function messagesIn(stream: string): Promise<number> {
  const manager = await jetstreamManager(as(operator));
  return (await manager.streams.info(stream)).state.messages;
}
