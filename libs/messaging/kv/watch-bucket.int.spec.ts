import { rm } from 'node:fs/promises';
import { BUCKETS } from '@fairlead/contracts';
import type { LogLevel } from '@fairlead/errors';
import { silentLogger, type Logger } from '@fairlead/observability';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { deleteKv, provisionJetStream, putKv, watchBucket, type KvSnapshot } from '../index.js';
import { STREAMS_API } from './bucket-feed.js';
import { startSecuredNats, type SecuredNats } from '../testing/secured-nats.js';

const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const registration = { role: 'registration', credential: 'registration' } as const;
const operator = { role: 'operator', credential: 'operator' } as const;
const Entry = z.object({ n: z.int() });
const bucket = BUCKETS.clusters;

let scratch: ScratchDir;
let nats: SecuredNats;
let writer: NatsConnection;
let reader: NatsConnection;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  writer = await nats.connect(registration);
  reader = await nats.connect(gateway);
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

const contents = <T>(snapshot: KvSnapshot<T>): Record<string, T> => Object.fromEntries(snapshot.entries());
const put = (key: string, n: number): Promise<void> => putKv(writer, bucket, key, { n });

it('loads an empty bucket, then follows changes and deletions', async () => {
  const changes: [string, unknown][] = [];
  const snapshot = watchBucket(reader, bucket, Entry, { onChange: (key, value) => void changes.push([key, value]) });
  await snapshot.loaded;
  expect([snapshot.isLoaded, snapshot.lastSyncedAtMs === null]).toEqual([true, false]);
  // One after the other: the bucket keeps the newest value of a key only, and may drop one before it was delivered.
  for (const [index, change] of [
    () => put('default.a', 1),
    () => put('default.a', 2),
    () => put('default.b', 1),
    () => deleteKv(writer, bucket, 'default.b'),
  ].entries()) {
    await change();
    await eventually(() => expect(changes).toHaveLength(index + 1));
  }
  expect(contents(snapshot)).toEqual({ 'default.a': { n: 2 } });
  expect(changes.at(-1)).toEqual(['default.b', undefined]);
  await snapshot.close();
});

it('loads what was there, skips what it cannot read, and keeps the value of a key that became unreadable', async () => {
  await putKv(writer, bucket, 'default.bad', { n: 'text' });
  await put('default.later-bad', 1);
  const before = { 'default.a': { n: 2 }, 'default.later-bad': { n: 1 } };
  const unread: string[] = [];
  const snapshot = watchBucket(reader, bucket, Entry, {
    onUnread: (key) => void unread.push(key),
    onChange: (key) => unread.includes(key) && unread.push(`${key} is over`),
  });
  const owners = watchBucket(writer, bucket, Entry, { unreadable: 'drop' });
  await Promise.all([snapshot.loaded, owners.loaded]);
  expect([contents(snapshot), contents(owners)]).toEqual([before, before]);
  await putKv(writer, bucket, 'default.later-bad', 'x');
  await eventually(() => expect(contents(owners)).toEqual({ 'default.a': { n: 2 } }));
  // Whatever comes later shows that the entry before it was seen.
  await put('default.last', 1);
  await eventually(() => expect(contents(snapshot)).toEqual({ ...before, 'default.last': { n: 1 } }));
  expect(unread).toEqual(['default.bad']);
  for (const key of ['default.bad', 'default.later-bad', 'default.last']) await deleteKv(writer, bucket, key);
  await eventually(() => expect(contents(snapshot)).toEqual({ 'default.a': { n: 2 } }));
  expect(unread).toEqual(['default.bad', 'default.bad is over']);
  await Promise.all([snapshot.close(), owners.close()]);
});

it('takes a header for a deletion only if it says so', async () => {
  const snapshot = watchBucket(reader, bucket, Entry);
  await snapshot.loaded;
  const odd = headers();
  odd.set('KV-Operation', 'PUT');
  await jetstream(writer).publish(`$KV.${bucket}.default.a`, JSON.stringify({ n: 7 }), { headers: odd });
  await eventually(() => expect(snapshot.get('default.a')).toEqual({ n: 7 }));
  await put('default.a', 2);
  await eventually(() => expect(snapshot.get('default.a')).toEqual({ n: 2 }));
  await snapshot.close();
});

it.each<[string, Uint8Array]>([
  ['cut off', Buffer.from('{"n":')],
  ['empty', Buffer.alloc(0)],
  ['no text', Buffer.from([0xff, 0xfe, 0x00])],
  ['as long as the bucket takes', Buffer.alloc(64 * 1024, '[')],
])('keeps the value of a key whose next entry is %s', async (_, bytes) => {
  const snapshot = watchBucket(reader, bucket, Entry);
  await snapshot.loaded;
  await jetstream(writer).publish(`$KV.${bucket}.default.a`, bytes);
  await put('default.behind', 1);
  await eventually(() => expect(snapshot.get('default.behind')).toEqual({ n: 1 }));
  expect(snapshot.get('default.a')).toEqual({ n: 2 });
  await Promise.all([put('default.a', 2), deleteKv(writer, bucket, 'default.behind')]);
  await snapshot.close();
});

it('hears nothing of an entry that is longer than the bucket takes, and its writer does', async () => {
  const snapshot = watchBucket(reader, bucket, Entry);
  await snapshot.loaded;
  const oversize = jetstream(writer).publish(`$KV.${bucket}.default.a`, Buffer.alloc(300 * 1024, '['));
  await expect(oversize).rejects.toMatchObject({ message: expect.stringContaining('message size exceeds maximum') });
  await put('default.behind', 1);
  await eventually(() => expect(snapshot.get('default.behind')).toEqual({ n: 1 }));
  expect(snapshot.get('default.a')).toEqual({ n: 2 });
  await deleteKv(writer, bucket, 'default.behind');
  await snapshot.close();
});

it('takes a purge of a key for its deletion; a purge of the whole stream is nobody’s right', async () => {
  const admin = await nats.connect(operator);
  const snapshot = watchBucket(reader, bucket, Entry);
  await put('default.purged', 1);
  await snapshot.loaded;
  await eventually(() => expect(snapshot.get('default.purged')).toEqual({ n: 1 }));
  const purge = headers();
  purge.set('KV-Operation', 'PURGE');
  await jetstream(writer).publish(`$KV.${bucket}.default.purged`, '', { headers: purge });
  await eventually(() => expect(contents(snapshot)).toEqual({ 'default.a': { n: 2 } }));
  const purgeAll = (await jetstreamManager(admin)).streams.purge(`KV_${bucket}`);
  await expect(purgeAll).rejects.toThrow('Permissions Violation');
  await snapshot.close();
});

it('takes nothing of another stream that is delivered to its inbox', async () => {
  const interrupted: string[] = [];
  const told = (_level: LogLevel, event: string, fields?: object): void => {
    if (event === 'kv.watch_interrupted') interrupted.push((fields as { reason: string }).reason);
  };
  const logger: Logger = { ...silentLogger, log: told, with: () => logger };
  let inbox = '';
  const subscribe = reader.subscribe.bind(reader);
  reader.subscribe = (subject, options) => subscribe((inbox = subject), options);
  const snapshot = watchBucket(reader, bucket, Entry, { logger });
  await snapshot.loaded;
  reader.subscribe = subscribe;
  // A gateway may make consumers of the routes; where they deliver, NATS does not check.
  await putKv(reader, BUCKETS.routes, 'gateway.gateway-a.boot', { n: 9 });
  const stream = `KV_${BUCKETS.routes}`;
  const filter = `$KV.${BUCKETS.routes}.>`;
  const config = {
    name: 'forged',
    filter_subject: filter,
    deliver_subject: inbox,
    ack_policy: 'none',
    deliver_policy: 'all',
  };
  const body = JSON.stringify({ stream_name: stream, config, action: 'create' });
  await reader.request(`${STREAMS_API}.CONSUMER.CREATE.${stream}.forged.${filter}`, body, { timeout: 20_000 });
  await eventually(() => expect(interrupted).toContain('an entry of something else was delivered'));
  await put('default.a', 2);
  await eventually(() => expect(contents(snapshot)).toEqual({ 'default.a': { n: 2 } }));
  await snapshot.close();
});

it('loads thousands of entries', async () => {
  // Each has a deadline of its own from when it was begun: not all of them at once.
  for (let from = 0; from < 5_000; from += 250) {
    await Promise.all(Array.from({ length: 250 }, (_, i) => put(`many.k${from + i}`, from + i)));
  }
  const snapshot = watchBucket(reader, bucket, Entry);
  await snapshot.loaded;
  expect([...snapshot.entries()].filter(([key]) => key.startsWith('many.'))).toHaveLength(5_000);
  await snapshot.close();
});

it('keeps serving while NATS is down, and catches up after it came back', async () => {
  const snapshot = watchBucket(reader, bucket, Entry);
  await snapshot.loaded;
  nats.server.kill('SIGKILL');
  await expect(put('default.a', 3)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(snapshot.get('default.a')).toEqual({ n: 2 });
  await nats.server.restart();
  await eventually(() => put('default.a', 3), { timeoutMs: 60_000 });
  await deleteKv(writer, bucket, 'many.k1');
  await eventually(() => expect([snapshot.get('default.a'), snapshot.get('many.k1')]).toEqual([{ n: 3 }, undefined]), {
    timeoutMs: 60_000,
  });
  await snapshot.close();
});

it('drops what is gone when the bucket was made anew while it watched', async () => {
  const gone: string[] = [];
  const onChange = (key: string, value: unknown): void => void (value === undefined && gone.push(key));
  const snapshot = watchBucket(reader, bucket, Entry, { onChange });
  await snapshot.loaded;
  const admin = await nats.connect(operator);
  await (await jetstreamManager(admin)).streams.delete(`KV_${bucket}`);
  await provisionJetStream(admin);
  await put('default.new', 1);
  await eventually(() => expect(contents(snapshot)).toEqual({ 'default.new': { n: 1 } }), { timeoutMs: 60_000 });
  expect(gone).toContain('default.a');
  await snapshot.close();
});

it('reconciles after a restart that lost the data', async () => {
  const snapshot = watchBucket(reader, bucket, Entry);
  await snapshot.loaded;
  await nats.server.stop();
  await rm(scratch.file('nats', 'jetstream'), { recursive: true });
  await nats.server.restart();
  expect(snapshot.get('default.new')).toEqual({ n: 1 });
  await provisionJetStream(await nats.connect(operator));
  await eventually(() => expect(contents(snapshot)).toEqual({}), { timeoutMs: 60_000 });
  await snapshot.close();
});

it('keeps what it knew of a bucket that was lost until its owner says that all is there again', async () => {
  const gone: string[] = [];
  const onChange = (key: string, value: unknown): void => void (value === undefined && gone.push(key));
  await eventually(() => put('default.kept', 1), { timeoutMs: 60_000 });
  await put('default.given.up', 1);
  const snapshot = watchBucket(reader, bucket, Entry, { onChange, completeKey: 'complete' });
  await eventually(() => expect(snapshot.get('default.kept')).toEqual({ n: 1 }));
  expect([snapshot.isLoaded, snapshot.lastSyncedAtMs]).toEqual([false, null]);
  await putKv(writer, bucket, 'complete', {});
  await snapshot.loaded;
  expect(snapshot.get('complete')).toBeUndefined();
  const admin = await nats.connect(operator);
  await (await jetstreamManager(admin)).streams.delete(`KV_${bucket}`);
  await provisionJetStream(admin);
  await put('default.late', 1);
  // So the new bucket is followed, and was read.
  await eventually(() => expect(snapshot.get('default.late')).toEqual({ n: 1 }), { timeoutMs: 60_000 });
  await put('default.kept', 2);
  await eventually(() => expect(snapshot.get('default.kept')).toEqual({ n: 2 }));
  expect([snapshot.get('default.given.up'), gone]).toEqual([{ n: 1 }, []]);
  const staleMs = snapshot.lastSyncedAtMs;
  await putKv(writer, bucket, 'complete', {});
  await eventually(() => expect(gone).toContain('default.given.up'));
  expect(contents(snapshot)).toEqual({ 'default.kept': { n: 2 }, 'default.late': { n: 1 } });
  await eventually(() => expect(snapshot.lastSyncedAtMs).toBeGreaterThan(staleMs!));
  await snapshot.close();
});

it('loads once the bucket exists', async () => {
  const admin = await nats.connect(operator);
  await (await jetstreamManager(admin)).streams.delete(`KV_${bucket}`);
  let tries = 0;
  const count = (_level: LogLevel, event: string): void => void (tries += Number(event === 'kv.watch_interrupted'));
  const logger: Logger = { ...silentLogger, log: count, with: () => logger };
  const snapshot = watchBucket(reader, bucket, Entry, { logger });
  await eventually(() => expect(tries).toBeGreaterThan(1));
  expect([snapshot.isLoaded, snapshot.lastSyncedAtMs]).toEqual([false, null]);
  await provisionJetStream(admin);
  await snapshot.loaded;
  await snapshot.close();
});
