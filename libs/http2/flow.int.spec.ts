import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import type { Http2Stream } from './stream.js';
import { REQUEST, data, headers, type RawPeer } from './testing/raw-peer.js';
import { Recorder } from './testing/recorder.js';
import { againstClient, ourPair, type RawAndOurs } from './testing/sessions.js';
import { CODE, FLAG, FRAME, SETTING } from './wire/constants.js';
import { frame, pingFrame, rstStreamFrame, settingsFrame, windowUpdateFrame } from './wire/frames.js';

const KIB = 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What our end gave the peer on a stream, or on the connection, beside what it began with. */
function given(peer: RawPeer, streamId: number): number {
  return peer.of(FRAME.windowUpdate, streamId).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
}

/** Everything that was sent before was read and answered. */
async function roundTrip(peer: RawPeer): Promise<void> {
  const before = peer.of(FRAME.ping).length;
  peer.send(pingFrame(Buffer.alloc(8), false));
  await eventually(() => expect(peer.of(FRAME.ping).length).toBeGreaterThan(before), { intervalMs: 2 });
}

async function begun(ours: RawAndOurs, streamId: number): Promise<Http2Stream> {
  ours.peer.send(headers(streamId));
  return eventually(
    () => {
      const stream = ours.session.streams.get(streamId);
      if (!stream) throw new Error('it has not come yet');
      return stream;
    },
    { intervalMs: 2 },
  );
}

const dataBytes = (peer: RawPeer, streamId: number): number =>
  peer.of(FRAME.data, streamId).reduce((sum, { payload }) => sum + payload.length, 0);

describe('what we let a peer send', () => {
  it('is exact on a stream: the window and not a byte more, padding counted', async () => {
    await using ours = await againstClient({ streamWindowBytes: 1_000 });
    ours.peer.send(frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0)));
    const stream = await begun(ours, 1);
    const told = new Recorder(stream, { taking: false });
    ours.peer.send(
      data(1, Buffer.alloc(900)),
      frame(FRAME.data, FLAG.padded, 1, Buffer.concat([Buffer.from([9]), Buffer.alloc(99)])),
    );
    await roundTrip(ours.peer);
    expect(told.bytes).toBe(990);
    expect(stream.heldBytes).toBe(990);
    ours.peer.send(data(1, 'x'));
    expect(await ours.peer.goawayCode()).toBe(CODE.flowControlError);
  });

  it('is more than our small window as long as the peer cannot know that it is', async () => {
    await using ours = await againstClient({ streamWindowBytes: 1_000 });
    const told = new Recorder(await begun(ours, 1));
    ours.peer.send(data(1, Buffer.alloc(16_000)), data(1, Buffer.alloc(16_000), true));
    await told.ended;
    expect(told.bytes).toBe(32_000);
  });

  it('is exact on the connection', async () => {
    await using ours = await againstClient();
    const told = new Recorder(await begun(ours, 1), { taking: false });
    ours.peer.send(data(1, Buffer.alloc(65_535)));
    await roundTrip(ours.peer);
    expect(told.bytes).toBe(65_535);
    ours.peer.send(data(1, 'x'));
    expect(await ours.peer.goawayCode()).toBe(CODE.flowControlError);
  });

  it('loses nothing when the window of streams becomes smaller and larger', async () => {
    await using ours = await againstClient({ streamWindowBytes: 64 * KIB });
    ours.session.setConnectionWindow(1024 * KIB);
    const stream = await begun(ours, 1);
    const told = new Recorder(stream);
    // Below a quarter, so that it is not given back on its own.
    for (let round = 0; round < 20; round += 1) {
      ours.peer.send(data(1, Buffer.alloc(10_000)));
      await eventually(() => expect(told.bytes).toBe(10_000 * (round + 1)), { intervalMs: 1 });
      ours.session.setStreamWindow((round % 2 === 0 ? 60 : 64) * KIB);
    }
    await roundTrip(ours.peer);
    const open = 64 * KIB + given(ours.peer, 1) - told.bytes;
    expect(open).toBeGreaterThan(44 * KIB);
  });
});

describe("the connection's window comes back", () => {
  const ways: [how: string, end: (ours: RawAndOurs, stream: Http2Stream) => void | Promise<void>][] = [
    ['the peer resets a stream that holds bytes', (ours) => ours.peer.send(rstStreamFrame(1, CODE.cancel))],
    ['we reset it', (_ours, stream) => stream.cancel()],
    [
      'nobody ever attached, and both ends ended',
      (ours, stream) => {
        stream.respond([[':status', '200']], { endStream: true });
        ours.peer.send(data(1, '', true));
      },
    ],
    [
      'its receiver let go, and both ends ended',
      (ours, stream) => {
        const receiver = new Recorder(stream, { taking: false });
        expect(receiver.bytes).toBe(40_000);
        stream.detach();
        stream.respond([[':status', '200']]);
        stream.end([['grpc-status', '0']]);
        ours.peer.send(data(1, '', true));
      },
    ],
  ];

  it.each(ways)('when %s', async (_how, end) => {
    await using ours = await againstClient();
    const stream = await begun(ours, 1);
    ours.peer.send(data(1, Buffer.alloc(40_000)));
    await roundTrip(ours.peer);
    expect(given(ours.peer, 0)).toBe(0);
    await end(ours, stream);
    await eventually(() => expect(ours.session.streams.size).toBe(0));
    await eventually(() => expect(given(ours.peer, 0)).toBe(40_000));
    stream.taken(40_000);
    await roundTrip(ours.peer);
    expect(given(ours.peer, 0)).toBe(40_000);
  });

  it('when a stream is reset in the middle of a DATA frame', async () => {
    await using ours = await againstClient();
    const stream = await begun(ours, 1);
    let came = 0;
    stream.attach({
      onData: (chunk) => {
        came += chunk.length;
        stream.cancel();
      },
      onEnd: () => undefined,
      onDrain: () => undefined,
      onClose: () => undefined,
    });
    const whole = data(1, Buffer.alloc(40_000));
    ours.peer.send(whole.subarray(0, 1_000));
    await eventually(() => expect(came).toBe(991));
    ours.peer.send(whole.subarray(1_000));
    await roundTrip(ours.peer);
    expect([came, given(ours.peer, 0)]).toEqual([991, 40_000]);
  });
});

describe('what a peer lets us send', () => {
  it('is exact, and below zero when its settings take it back', async () => {
    await using ours = await againstClient({}, [[SETTING.initialWindowSize, 1_000]]);
    const stream = await begun(ours, 1);
    stream.respond([[':status', '200']]);
    stream.write(Buffer.alloc(2_000));
    await eventually(() => expect(dataBytes(ours.peer, 1)).toBe(1_000));
    ours.peer.send(settingsFrame([[SETTING.initialWindowSize, 100]]), windowUpdateFrame(1, 900));
    await roundTrip(ours.peer);
    expect(stream.sendWindow).toBe(0);
    ours.peer.send(windowUpdateFrame(1, 1));
    await eventually(() => expect(dataBytes(ours.peer, 1)).toBe(1_001));
    ours.peer.send(settingsFrame([[SETTING.initialWindowSize, 5_000]]));
    await eventually(() => expect(dataBytes(ours.peer, 1)).toBe(2_000));
  });

  it('does not stop an end that carries nothing', async () => {
    await using ours = await againstClient({}, [[SETTING.initialWindowSize, 1_000]]);
    const stream = await begun(ours, 1);
    stream.respond([[':status', '200']]);
    stream.write(Buffer.alloc(1_000));
    await eventually(() => expect(dataBytes(ours.peer, 1)).toBe(1_000));
    ours.peer.send(settingsFrame([[SETTING.initialWindowSize, 0]]));
    await roundTrip(ours.peer);
    stream.end([['grpc-status', '0']]);
    await eventually(() => expect(ours.peer.of(FRAME.headers, 1)).toHaveLength(2));
    expect(ours.session.queuedBytes).toBeGreaterThanOrEqual(0);
  });

  it('ends the session when settings make any window larger than 2^31-1', async () => {
    await using ours = await againstClient();
    await begun(ours, 1);
    ours.peer.send(windowUpdateFrame(1, 1), settingsFrame([[SETTING.initialWindowSize, 2 ** 31 - 1]]));
    expect(await ours.peer.goawayCode()).toBe(CODE.flowControlError);
  });

  it('on the connection is shared by turns', async () => {
    await using ours = await againstClient({}, [[SETTING.initialWindowSize, 1024 * KIB]]);
    const streams = [await begun(ours, 1), await begun(ours, 3)];
    for (const stream of streams) {
      stream.respond([[':status', '200']]);
      stream.write(Buffer.alloc(200 * KIB));
    }
    await eventually(() => expect(dataBytes(ours.peer, 1) + dataBytes(ours.peer, 3)).toBe(65_535));
    for (let total = 65_535; total < 400 * KIB; total += 16 * KIB) ours.peer.send(windowUpdateFrame(0, 16 * KIB));
    await eventually(() => expect([dataBytes(ours.peer, 1), dataBytes(ours.peer, 3)]).toEqual([200 * KIB, 200 * KIB]));
  });
});

it('keeps nothing of streams that a peer resets while it opens no window', async () => {
  await using ours = await againstClient();
  const filler = await begun(ours, 1);
  filler.respond([[':status', '200']]);
  filler.write(Buffer.alloc(65_535));
  await eventually(() => expect(dataBytes(ours.peer, 1)).toBe(65_535));
  const gone: WeakRef<Http2Stream>[] = [];
  ours.session.on('stream', (stream) => {
    gone.push(new WeakRef(stream));
    stream.respond([[':status', '200']]);
    stream.write(Buffer.alloc(1_000));
  });
  for (let batch = 0; batch < 10; batch += 1) {
    const ids = Array.from({ length: 50 }, (_, index) => 3 + 2 * (batch * 50 + index));
    ours.peer.send(...ids.map((id) => headers(id)));
    await roundTrip(ours.peer);
    ours.peer.send(...ids.map((id) => rstStreamFrame(id, CODE.cancel)));
    await roundTrip(ours.peer);
    ours.arrived.length = 0;
  }
  expect(gone).toHaveLength(500);
  await eventually(() => {
    collectGarbage();
    expect(gone.filter((each) => each.deref()).length).toBeLessThan(150);
  });
});

it('holds no more of a stalled stream than its window, and holds up no other', async () => {
  await using pair = await ourPair({ streamWindowBytes: 64 * KIB });
  const { client, server } = pair;
  server.session.setConnectionWindow(16 * 1024 * KIB);
  server.session.on('stream', (stream) => new Recorder(stream, { taking: server.arrived.length > 1 }));
  const stalled = client.session.request(REQUEST);
  const written = new Recorder(stalled).writeAll(Buffer.alloc(1024 * KIB), () => 32 * KIB);
  const moving = client.session.request(REQUEST);
  await new Recorder(moving).writeAll(Buffer.alloc(8 * 1024 * KIB), () => 32 * KIB);
  await eventually(() => expect(moving.pendingBytes).toBe(0));
  expect(server.arrived[0]?.heldBytes).toBe(64 * KIB);
  expect(stalled.heldBytes).toBeLessThanOrEqual(160 * KIB);
  stalled.cancel();
  await written;
});
