import { readdir, stat, truncate } from 'node:fs/promises';
import { BUCKETS } from '@fairlead/contracts';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { startNats } from '@fairlead/testbed';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deleteKv, provisionJetStream, putKv, watchBucket, type KvSnapshot } from '../index.js';
import { startSecuredNats, type SecuredNats } from '../testing/secured-nats.js';

const Entry = z.object({ text: z.string() });
const bucket = BUCKETS.clusters;
const stream = `KV_${bucket}`;
const SLOW = { timeoutMs: 60_000 };

let scratch: ScratchDir;
let nats: SecuredNats;
let writer: NatsConnection;
let operator: NatsConnection;
let snapshot: KvSnapshot<z.infer<typeof Entry>>;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
  writer = await nats.connect({ role: 'registration', credential: 'registration' });
  operator = await nats.connect({ role: 'operator', credential: 'operator' });
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await put('kept', 'old');
  snapshot = watchBucket(await nats.connect({ role: 'gateway', credential: 'gateway-a' }), bucket, Entry);
  await snapshot.loaded;
});
afterEach(async () => {
  await snapshot.close();
  for (const [key] of snapshot.entries()) await deleteKv(writer, bucket, key);
});

const put = (key: string, text: string): Promise<void> => putKv(writer, bucket, `default.${key}`, { text });
const putBytes = (key: string, bytes: Uint8Array): Promise<unknown> =>
  jetstream(writer).publish(`$KV.${bucket}.default.${key}`, bytes);

let marks = 0;
/** Once an entry that was written now is seen, those before it were. */
async function expectContents(expected: Record<string, string>): Promise<void> {
  marks += 1;
  await put('mark', String(marks));
  await eventually(() => {
    const contents = Object.fromEntries([...snapshot.entries()].map(([key, { text }]) => [key.slice(8), text]));
    expect(contents).toEqual({ ...expected, mark: String(marks) });
  }, SLOW);
}

describe('a truncated entry', () => {
  it('whose JSON is whole, but not a character in it, leaves its key the value it had', async () => {
    await putBytes('kept', Uint8Array.of(...Buffer.from('{"text":"n'), 0xc3, ...Buffer.from('"}')));
    await expectContents({ kept: 'old' });
    await put('kept', 'new');
    await expectContents({ kept: 'new' });
    expect(snapshot.get('default.kept')).toEqual({ text: 'new' });
  });

  it('is cut off by nats-server where its file ends, and watchers hold what is in the bucket', async () => {
    await put('whole', 'first');
    await put('cut', 'last');
    await eventually(() => expect(snapshot.get('default.cut')).toEqual({ text: 'last' }));
    nats.server.kill('SIGKILL');
    await nats.server.exited;
    const folder = scratch.file('nats', 'jetstream', 'jetstream', 'STREAMS', 'streams', stream, 'msgs');
    const blocks = (await readdir(folder)).filter((name) => name.endsWith('.blk'));
    const newest = `${folder}/${blocks.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).at(-1)}`;
    await truncate(newest, (await stat(newest)).size - 10);
    await nats.server.restart();
    await eventually(() => expect(snapshot.get('default.cut')).toBeUndefined(), SLOW);
    await eventually(() => expectContents({ kept: 'old', whole: 'first' }), SLOW);
  });
});

describe('an oversize entry', () => {
  it('is refused before it is sent', async () => {
    await expect(put('kept', 'x'.repeat(65_536))).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await expectContents({ kept: 'old' });
  });

  it('leaves its key the value it had, where the bucket’s own bound was taken away', async () => {
    // Its connection may still be coming back.
    const { streams } = await eventually(() => jetstreamManager(operator), SLOW);
    await streams.update(stream, { max_msg_size: -1 });
    await putBytes('kept', Buffer.from(JSON.stringify({ text: 'x'.repeat(100_000) })));
    await expectContents({ kept: 'old' });
    await provisionJetStream(operator);
  });
});

describe('a purge', () => {
  it('that is a rollup is refused: it could take others’ keys', async () => {
    const purge = headers();
    purge.set('KV-Operation', 'PURGE');
    purge.set('Nats-Rollup', 'all');
    const rollup = jetstream(writer).publish(`$KV.${bucket}.default.kept`, '', { headers: purge });
    await expect(rollup).rejects.toThrow('rollup not permitted');
    await expectContents({ kept: 'old' });
  });

  it('of a whole stream, which no watcher would be told of, is refused even to whoever may do anything', async () => {
    await using plain = await startNats({ dataDir: scratch.file('plain'), log: () => undefined });
    const nc = await connect({ servers: plain.info.url });
    await provisionJetStream(nc);
    const { streams } = await jetstreamManager(nc);
    for (const name of ['FAIRLEAD_EVENTS', ...Object.values(BUCKETS).map((each) => `KV_${each}`)]) {
      await expect(streams.purge(name)).rejects.toThrow('stream purge not permitted');
    }
    await nc.close();
  });
});
