import { once } from 'node:events';
import { connect, performServerHandshake, type ClientHttp2Session, type Settings } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import type { SessionOptions } from './options.js';
import { Http2Session } from './session.js';
import { REQUEST } from './testing/raw-peer.js';
import { Recorder } from './testing/recorder.js';
import { OPTIONS, ourPair, watched, type Watched } from './testing/sessions.js';
import { tlsPair } from './testing/tls-pair.js';

const KIB = 1024;
const HEAD = { ':method': 'POST', ':scheme': 'https', ':path': '/', ':authority': 'test' };

/** Bytes that differ everywhere, so that a lost, doubled or swapped piece shows. */
function pattern(length: number, seed: number): Buffer {
  const random = randomOf(seed);
  return Buffer.from(Uint8Array.from({ length }, () => random(256)));
}

function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** Sends back what comes, and how much it was in the trailers. */
function echo({ session }: Watched): void {
  session.on('stream', (stream) => {
    let held = 0;
    let bytes = 0;
    stream.respond([[':status', '200']]);
    stream.attach({
      onData: (chunk) => {
        bytes += chunk.length;
        if (stream.write(chunk)) stream.taken(chunk.length);
        else held += chunk.length;
      },
      onDrain: () => {
        stream.taken(held);
        held = 0;
      },
      onEnd: () => stream.end([['x-bytes', String(bytes)]]),
      onClose: () => undefined,
    });
  });
}

interface NodeClient extends AsyncDisposable {
  readonly node: ClientHttp2Session;
  readonly ours: Watched;
}

async function nodeClient(options: Partial<SessionOptions> = {}, settings: Settings = {}): Promise<NodeClient> {
  const pair = await tlsPair();
  const ours = watched(new Http2Session(pair.server, 'server', { ...OPTIONS, ...options }));
  const node = connect('https://127.0.0.1', { createConnection: () => pair.client, settings });
  node.on('error', () => undefined);
  return { node, ours, [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose]() };
}

/** A request of Node's client with this body: what came back. */
async function exchange(node: ClientHttp2Session, body: Buffer): Promise<{ body: Buffer; trailers: unknown }> {
  const stream = node.request(HEAD, { endStream: false });
  let trailers: unknown;
  stream.once('trailers', (headers) => (trailers = headers['x-bytes']));
  stream.end(body);
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return { body: Buffer.concat(pieces), trailers };
}

describe("Node's client and our server", () => {
  it.each([
    ['windows of 64 KiB', {}, {}],
    ['our windows tiny', { streamWindowBytes: 100 }, {}],
    ['its windows tiny, no HPACK table', {}, { initialWindowSize: 1_000, headerTableSize: 0 }],
    ['large ones', { streamWindowBytes: 4 * KIB * KIB }, { initialWindowSize: 4 * KIB * KIB, maxFrameSize: 1 << 20 }],
  ])('exchange many bodies both ways at once: %s', async (_what, options, settings) => {
    await using both = await nodeClient(options, settings);
    echo(both.ours);
    const bodies = [0, 1, 100, 16_384, 65_535, 65_536, 300_000].map((length) => pattern(length, length + 1));
    const answers = await Promise.all(bodies.map((body) => exchange(both.node, body)));
    expect(answers.map(({ body }, index) => body.equals(bodies[index] as Buffer))).not.toContain(false);
    expect(answers.map(({ trailers }) => trailers)).toEqual(bodies.map(({ length }) => String(length)));
    await eventually(() => expect(both.ours.session.streams.size).toBe(0));
    expect(both.ours.causes).toEqual([]);
  });

  it('ping each other, and shut down in order', async () => {
    await using both = await nodeClient();
    echo(both.ours);
    expect(await both.ours.session.ping()).toBeGreaterThan(0);
    await new Promise<void>((resolve, reject) => {
      both.node.ping((error) => (error ? reject(error) : resolve()));
    });
    const going = exchange(both.node, pattern(100_000, 3));
    await eventually(() => expect(both.ours.arrived).toHaveLength(1));
    const goaway = once(both.node, 'goaway');
    both.ours.session.shutdown();
    expect((await goaway)[0]).toBe(0);
    expect((await going).body).toHaveLength(100_000);
    await eventually(() => expect(both.ours.session.destroyed).toBe(true));
  });
});

describe("our client and Node's server", () => {
  it.each([
    ['as it is', {}],
    ['windows tiny, no HPACK table', { initialWindowSize: 500, headerTableSize: 0 }],
  ])('exchange many bodies both ways at once: %s', async (_what, settings) => {
    await using pair = await tlsPair();
    const node = performServerHandshake(pair.server, { settings });
    node.on('stream', (stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.pipe(stream);
    });
    const ours = new Http2Session(pair.client, 'client', OPTIONS);
    const random = randomOf(9);
    const bodies = [1, 16_384, 65_536, 400_000].map((length) => pattern(length, length));
    await Promise.all(
      bodies.map(async (body) => {
        const stream = ours.request(REQUEST);
        const told = new Recorder(stream);
        await told.writeAll(body, () => 1 + random(50_000));
        stream.end();
        await told.ended;
        expect(told.body.equals(body)).toBe(true);
        expect([told.head?.status, told.trailers]).toEqual([200, [['grpc-status', '0']]]);
      }),
    );
    await eventually(() => expect(ours.streams.size).toBe(0));
    node.close();
    await eventually(() => expect(ours.closed).toBe(true));
  });
});

describe('our two ends', () => {
  it('exchange 64 bodies both ways at once, exactly, when everything is full', async () => {
    await using pair = await ourPair({ streamWindowBytes: 64 * KIB });
    echo(pair.server);
    const { session } = pair.client;
    await Promise.all(
      Array.from({ length: 64 }, async (_each, index) => {
        const random = randomOf(index + 1);
        const body = pattern(300_000 + random(200_000), index + 1);
        const stream = session.request(REQUEST);
        const told = new Recorder(stream);
        await told.writeAll(body, () => 1 + random(index % 2 === 0 ? 100_000 : 3_000));
        stream.end();
        await told.ended;
        expect(told.body.equals(body)).toBe(true);
        expect(told.trailers).toEqual([['x-bytes', String(body.length)]]);
      }),
    );
    await eventually(() => expect([session.streams.size, pair.server.session.streams.size]).toEqual([0, 0]));
    expect([session.queuedBytes, pair.client.causes, pair.server.causes]).toEqual([0, [], []]);
  });
});
