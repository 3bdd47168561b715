import { describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import { DEFAULT_ABUSE_LIMITS, type AbuseLimits } from './options.js';
import type { Http2Stream } from './stream.js';
import { REQUEST, data, headers } from './testing/raw-peer.js';
import { againstClient } from './testing/sessions.js';
import { CODE, FLAG, FRAME } from './wire/constants.js';
import { frame, goawayFrame, pingFrame, rstStreamFrame, windowUpdateFrame } from './wire/frames.js';

const NOTHING = Buffer.alloc(0);
const UNKNOWN_TYPE = 0xfa;
/** One more than the burst that a test allows. */
const COUNT = 65;
const RATE = { burst: COUNT - 1, perSecond: 0 };

const idOf = (index: number): number => 2 * index + 1;

/** What it does, the budget it is out of, its name, and the frames; every request is answered at once, as it is in a refusal. */
const FLOODS: readonly (readonly [string, keyof AbuseLimits, string, (index: number) => Buffer])[] = [
  ['requests, each over before the next', 'requests', 'request-flood', (index) => headers(idOf(index), REQUEST, true)],
  [
    'requests after its own GOAWAY',
    'refusedStreams',
    'stream-flood',
    (index) => Buffer.concat([...(index === 0 ? [goawayFrame(0)] : []), headers(idOf(index), REQUEST, true)]),
  ],
  [
    'resets of streams just begun',
    'resets',
    'reset-flood',
    (index) => Buffer.concat([headers(idOf(index)), rstStreamFrame(idOf(index), CODE.cancel)]),
  ],
  ['PRIORITY', 'ignoredFrames', 'ignored-frames', () => frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 3, 1]))],
  ['frames of a type that nobody knows', 'ignoredFrames', 'ignored-frames', () => frame(UNKNOWN_TYPE, 0, 0, NOTHING)],
  [
    'WINDOW_UPDATE of a stream that is gone',
    'ignoredFrames',
    'ignored-frames',
    (index) => (index === 0 ? Buffer.concat([headers(1, REQUEST, true), update(1)]) : update(1)),
  ],
  [
    'DATA for a stream that we have reset',
    'ignoredFrames',
    'ignored-frames',
    // The first one has a malformed head.
    (index) => (index === 0 ? Buffer.concat([headers(1, []), data(1, 'x')]) : data(1, 'x')),
  ],
  ['WINDOW_UPDATE of the connection', 'windowUpdates', 'window-update-flood', () => update(0)],
  [
    'WINDOW_UPDATE of a stream',
    'windowUpdates',
    'window-update-flood',
    (index) => (index === 0 ? Buffer.concat([headers(1), update(1)]) : update(1)),
  ],
  ['answers to pings', 'pings', 'ping-flood', () => pingFrame(Buffer.alloc(8), true)],
  ['acknowledged SETTINGS', 'settings', 'settings-flood', () => frame(FRAME.settings, FLAG.ack, 0, NOTHING)],
];

const update = (streamId: number): Buffer => windowUpdateFrame(streamId, 1);

describe('a flood of', () => {
  it.each(FLOODS)('%s ends the session', async (_, budget, violation, step) => {
    await using ours = await againstClient({ abuse: { ...DEFAULT_ABUSE_LIMITS, [budget]: RATE } });
    answerAll(ours.session);
    ours.peer.send(...Array.from({ length: 2 * COUNT }, (_, index) => step(index)));
    expect(await ours.peer.goawayCode()).toBe(CODE.enhanceYourCalm);
    expect(ours.causes[0]).toMatchObject({ violation });
  });
});

it('WINDOW_UPDATE is no flood from a peer that takes what we send', async () => {
  await using ours = await againstClient({
    abuse: { ...DEFAULT_ABUSE_LIMITS, windowUpdates: { burst: 2, perSecond: 0 } },
  });
  ours.peer.send(headers(1));
  await eventually(() => expect(ours.arrived).toHaveLength(1));
  ours.arrived[0]?.respond([[':status', '200']]);
  for (let sent = 1; sent <= 10; sent += 1) {
    ours.arrived[0]?.write(Buffer.alloc(100));
    await eventually(() => expect(ours.peer.of(FRAME.data)).toHaveLength(sent));
    ours.peer.send(...Array.from({ length: 5 }, () => update(0)), ...Array.from({ length: 5 }, () => update(1)));
  }
  ours.peer.send(pingFrame(Buffer.alloc(8), false));
  await ours.peer.next(FRAME.ping);
  expect(ours.causes).toEqual([]);
});

describe('until a peer has shown who it is', () => {
  it.each([
    ['frames', { mayRead: () => true, mayBeginFrame: upTo(10) }],
    ['reads', { mayRead: upTo(0), mayBeginFrame: () => true }],
  ])('has so many %s, and then its session ends', async (_, allowance) => {
    await using ours = await againstClient();
    ours.session.setAllowance(allowance);
    ours.peer.send(...Array.from({ length: 20 }, () => frame(UNKNOWN_TYPE, 0, 0, NOTHING)));
    expect(await ours.peer.goawayCode()).toBe(CODE.enhanceYourCalm);
    expect(ours.causes[0]).toMatchObject({ violation: 'unauthenticated-flood' });
  });

  it('keeps a connection that it abused for some seconds, in which it does not dial anew and nothing of it is read', async () => {
    await using ours = await againstClient();
    ours.session.setAllowance({ mayRead: upTo(1), mayBeginFrame: upTo(10) });
    const floodedAtMs = performance.now();
    ours.peer.send(...Array.from({ length: 20 }, () => frame(UNKNOWN_TYPE, 0, 0, NOTHING)));
    await ours.peer.goawayCode();
    const { bytesRead } = ours.session;
    ours.peer.send(Buffer.alloc(8 * 1024 * 1024));
    await eventually(() => expect(ours.peer.gone).toBe(true), { timeoutMs: 30_000 });
    expect(performance.now() - floodedAtMs).toBeGreaterThan(4_500);
    expect(ours.session.bytesRead - bytesRead).toBeLessThan(1024 * 1024);
  });

  it('counts nothing any more once it has', async () => {
    await using ours = await againstClient();
    ours.session.setAllowance({ mayRead: () => true, mayBeginFrame: upTo(10) });
    ours.session.setAllowance(null);
    ours.peer.send(
      ...Array.from({ length: 50 }, () => frame(UNKNOWN_TYPE, 0, 0, NOTHING)),
      pingFrame(Buffer.alloc(8), false),
    );
    await ours.peer.next(FRAME.ping);
    expect(ours.causes).toEqual([]);
  });
});

describe('what waits for a peer', () => {
  it('is written within a turn: as many requests as one read brings leave no queue of answers', async () => {
    await using ours = await againstClient({
      abuse: { ...DEFAULT_ABUSE_LIMITS, requests: { burst: 4_000, perSecond: 0 } },
    });
    let mostWaiting = 0;
    ours.session.on('stream', (stream) => {
      stream.respond(
        [
          [':status', '200'],
          ['x-padding', 'x'.repeat(30)],
        ],
        { endStream: true },
      );
      mostWaiting = Math.max(mostWaiting, ours.session.waitingControlBytes);
    });
    ours.peer.send(...Array.from({ length: 4_000 }, (_, index) => headers(idOf(index), REQUEST, true)));
    await eventually(() => expect(ours.peer.of(FRAME.headers)).toHaveLength(4_000));
    // Of 200 KB.
    expect(mostWaiting).toBeLessThan(32 * 1024);
  });

  it('is not read on once it was told to go, and does not listen', async () => {
    await using ours = await againstClient({ abuse: { ...DEFAULT_ABUSE_LIMITS, ignoredFrames: RATE } });
    ours.peer.send(
      frame(FRAME.priority, 0, 1, Buffer.alloc(5)),
      ...Array.from({ length: COUNT }, () => frame(UNKNOWN_TYPE, 0, 0, NOTHING)),
    );
    await eventually(() => expect(ours.causes).toHaveLength(1));
    const readBefore = ours.session.bytesRead;
    // It may not live to hear all of it.
    ours.peer.socket.on('error', () => undefined);
    for (let sent = 0; sent < 64; sent += 1) ours.peer.send(Buffer.alloc(1024 * 1024));
    await eventually(() => expect(ours.session.socket.destroyed).toBe(true));
    expect(ours.session.bytesRead - readBefore).toBeLessThan(8 * 1024 * 1024);
  });
});

/** True so many times. */
function upTo(count: number): () => boolean {
  let left = count;
  return () => (left -= 1) >= 0;
}

function answerAll(session: { on: (event: 'stream', listener: (stream: Http2Stream) => void) => void }): void {
  session.on('stream', (stream) => stream.respond([[':status', '404']], { endStream: true }));
}
