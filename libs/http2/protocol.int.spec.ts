import { describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import { Recorder } from './testing/recorder.js';
import { REQUEST, data, headers } from './testing/raw-peer.js';
import { againstClient, againstServer } from './testing/sessions.js';
import { CODE, FLAG, FRAME, SETTING } from './wire/constants.js';
import { frame, goawayFrame, pingFrame, rstStreamFrame, settingsFrame, windowUpdateFrame } from './wire/frames.js';

const LARGEST = 2 ** 31 - 1;
const empty = Buffer.alloc(0);
const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

describe('frames that break the connection', () => {
  const broken: [what: string, frames: Buffer[], code: number][] = [
    ['DATA on stream 0', [data(0, 'x')], CODE.protocolError],
    ['DATA on an idle stream', [data(1, 'x')], CODE.protocolError],
    [
      'DATA beyond the largest frame',
      [headers(1), frame(FRAME.data, 0, 1, Buffer.alloc(131_073))],
      CODE.frameSizeError,
    ],
    [
      'DATA that is all padding and more',
      [headers(1), frame(FRAME.data, FLAG.padded, 1, Buffer.from([2, 0]))],
      CODE.protocolError,
    ],
    ['DATA with no pad length', [headers(1), frame(FRAME.data, FLAG.padded, 1, empty)], CODE.frameSizeError],
    ['DATA after its end', [headers(1, REQUEST, true), rstStreamFrame(1, 8), data(1, 'x')], CODE.streamClosed],
    ['HEADERS after a reset', [headers(1), rstStreamFrame(1, 8), headers(1)], CODE.streamClosed],
    ['HEADERS on stream 0', [headers(0)], CODE.protocolError],
    ['HEADERS with an even number', [headers(2)], CODE.protocolError],
    ['HEADERS with a number that was passed', [headers(5), headers(3)], CODE.protocolError],
    [
      'HEADERS shorter than their padding',
      [frame(FRAME.headers, FLAG.padded | FLAG.endHeaders, 1, Buffer.from([9, 0x82]))],
      CODE.protocolError,
    ],
    ['HPACK that is none', [frame(FRAME.headers, FLAG.endHeaders, 1, Buffer.from([0x80]))], CODE.compressionError],
    [
      'a frame in the middle of a header block',
      [frame(FRAME.headers, 0, 1, Buffer.from([0x82])), pingFrame(Buffer.alloc(8), false)],
      CODE.protocolError,
    ],
    [
      'CONTINUATION of another stream',
      [frame(FRAME.headers, 0, 1, Buffer.from([0x82])), frame(FRAME.continuation, FLAG.endHeaders, 3, empty)],
      CODE.protocolError,
    ],
    ['CONTINUATION of nothing', [frame(FRAME.continuation, FLAG.endHeaders, 1, empty)], CODE.protocolError],
    [
      'CONTINUATION without an end',
      [frame(FRAME.headers, 0, 1, empty), ...Array.from({ length: 9 }, () => frame(FRAME.continuation, 0, 1, empty))],
      CODE.enhanceYourCalm,
    ],
    ['PRIORITY of the connection', [frame(FRAME.priority, 0, 0, Buffer.alloc(5))], CODE.protocolError],
    ['PRIORITY of a wrong size', [frame(FRAME.priority, 0, 1, Buffer.alloc(4))], CODE.frameSizeError],
    ['RST_STREAM of an idle stream', [rstStreamFrame(1, 8)], CODE.protocolError],
    ['RST_STREAM of the connection', [rstStreamFrame(0, 8)], CODE.protocolError],
    ['RST_STREAM of a wrong size', [headers(1), frame(FRAME.rstStream, 0, 1, Buffer.alloc(3))], CODE.frameSizeError],
    ['SETTINGS on a stream', [frame(FRAME.settings, 0, 1, empty)], CODE.protocolError],
    ['SETTINGS of an odd length', [frame(FRAME.settings, 0, 0, Buffer.alloc(5))], CODE.frameSizeError],
    [
      'an answer to SETTINGS that says something',
      [frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(6))],
      CODE.frameSizeError,
    ],
    ['an initial window beyond 2^31-1', [settingsFrame([[SETTING.initialWindowSize, 2 ** 31]])], CODE.flowControlError],
    ['PUSH_PROMISE', [frame(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.alloc(4))], CODE.protocolError],
    ['PING on a stream', [frame(FRAME.ping, 0, 1, Buffer.alloc(8))], CODE.protocolError],
    ['PING of a wrong size', [frame(FRAME.ping, 0, 0, Buffer.alloc(7))], CODE.frameSizeError],
    ['GOAWAY on a stream', [frame(FRAME.goaway, 0, 1, Buffer.alloc(8))], CODE.protocolError],
    ['GOAWAY of a wrong size', [frame(FRAME.goaway, 0, 0, Buffer.alloc(7))], CODE.frameSizeError],
    ['WINDOW_UPDATE by nothing', [windowUpdateFrame(0, 0)], CODE.protocolError],
    ['WINDOW_UPDATE beyond 2^31-1', [windowUpdateFrame(0, LARGEST)], CODE.flowControlError],
    ['WINDOW_UPDATE of an idle stream', [windowUpdateFrame(1, 1)], CODE.protocolError],
    ['WINDOW_UPDATE of a wrong size', [frame(FRAME.windowUpdate, 0, 0, Buffer.alloc(5))], CODE.frameSizeError],
    ['any frame but DATA beyond 16 KiB', [frame(200, 0, 0, Buffer.alloc(16_385))], CODE.frameSizeError],
  ];

  it.each(broken)('%s', async (_what, frames, code) => {
    await using ours = await againstClient();
    ours.peer.send(...frames);
    expect(await ours.peer.goawayCode()).toBe(code);
    await eventually(() => expect(ours.peer.gone).toBe(true));
    expect(ours.causes).toHaveLength(1);
    expect(ours.session.streams.size).toBe(0);
  });
});

describe('frames that break one stream', () => {
  const broken: [what: string, frames: Buffer[], code: number][] = [
    ['DATA after END_STREAM', [headers(1, REQUEST, true), data(1, 'x')], CODE.streamClosed],
    ['HEADERS after END_STREAM', [headers(1, REQUEST, true), headers(1, [['x', 'y']], true)], CODE.streamClosed],
    ['trailers without END_STREAM', [headers(1), headers(1, [['x', 'y']])], CODE.protocolError],
    ['trailers with a pseudo header', [headers(1), headers(1, [[':path', '/']], true)], CODE.protocolError],
    ['WINDOW_UPDATE by nothing', [headers(1), windowUpdateFrame(1, 0)], CODE.protocolError],
    ['WINDOW_UPDATE beyond 2^31-1', [headers(1), windowUpdateFrame(1, LARGEST)], CODE.flowControlError],
    [
      'a request without a path',
      [
        headers(
          1,
          REQUEST.filter(([name]) => name !== ':path'),
        ),
      ],
      CODE.protocolError,
    ],
    ['a name in upper case', [headers(1, [...REQUEST, ['X', 'y']])], CODE.protocolError],
    ['a value with a line break', [headers(1, [...REQUEST, ['x', 'a\nb']])], CODE.protocolError],
    [
      'a path with a line break',
      [headers(1, [...REQUEST.filter(([name]) => name !== ':path'), [':path', '/\r\n']])],
      CODE.protocolError,
    ],
    ['a header of the connection', [headers(1, [...REQUEST, ['connection', 'close']])], CODE.protocolError],
  ];

  it.each(broken)('%s', async (_what, frames, code) => {
    await using ours = await againstClient();
    ours.peer.send(...frames, headers(3));
    expect(await ours.peer.resetCode(1)).toBe(code);
    await eventually(() => expect(ours.arrived.map(({ id }) => id)).toContain(3));
    expect(ours.session.destroyed).toBe(false);
    expect(ours.session.streams.size).toBe(1);
  });

  const answers: [what: string, frame: Buffer][] = [
    ['an answer without a status', headers(1, [['grpc-status', '0']], true)],
    ['an interim answer that ends', headers(1, [[':status', '100']], true)],
    ['a change of protocol', headers(1, [[':status', '101']])],
    ['DATA before its head', data(1, 'x')],
  ];

  it.each(answers)('%s', async (_what, answer) => {
    await using ours = await againstServer();
    const told = new Recorder(ours.session.request(REQUEST));
    await ours.peer.next(FRAME.headers);
    ours.peer.send(answer);
    expect(await ours.peer.resetCode(1)).toBe(CODE.protocolError);
    expect(told.told).toEqual(['close 1']);
  });
});

describe('what is allowed', () => {
  it('ignores unknown frames, PRIORITY, flags and reserved bits', async () => {
    await using ours = await againstClient();
    const request = headers(1);
    request.writeUInt32BE(0x8000_0001, 5);
    ours.peer.send(frame(0xfa, 0xff, 7, Buffer.from('x')), frame(FRAME.priority, 0, 9, Buffer.alloc(5)), request);
    ours.peer.send(pingFrame(Buffer.from('12345678'), false));
    expect((await ours.peer.next(FRAME.ping)).payload.toString()).toBe('12345678');
    expect(ours.arrived).toHaveLength(1);
  });

  it('takes padding and priority off, and puts CONTINUATION together', async () => {
    await using ours = await againstClient();
    const whole = headers(1).subarray(9);
    const padded = Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 0]), whole.subarray(0, 4), Buffer.alloc(3)]);
    ours.peer.send(
      frame(FRAME.headers, FLAG.padded | FLAG.priority, 1, padded),
      frame(FRAME.continuation, 0, 1, whole.subarray(4, 9)),
      frame(FRAME.continuation, FLAG.endHeaders, 1, whole.subarray(9)),
    );
    await eventually(() => expect(ours.arrived).toHaveLength(1));
    const told = new Recorder(ours.arrived[0]!);
    ours.peer.send(frame(FRAME.data, FLAG.padded, 1, Buffer.from('\x04body\0\0\0\0')));
    ours.peer.send(frame(FRAME.data, FLAG.padded | FLAG.endStream, 1, Buffer.from('\x02\0\0')));
    await told.ended;
    expect(told.told).toEqual(['body', 'end']);
  });

  it('takes interim answers, an answer, DATA and trailers, in this order', async () => {
    await using ours = await againstServer();
    const told = new Recorder(ours.session.request(REQUEST));
    await ours.peer.next(FRAME.headers);
    ours.peer.send(
      headers(1, [[':status', '103']]),
      headers(1, [[':status', '200']]),
      data(1, 'body'),
      headers(1, [['grpc-status', '0']], true),
    );
    await told.ended;
    expect(told.told).toEqual(['head 200', 'body', 'end']);
    expect(told.trailers).toEqual([['grpc-status', '0']]);
  });

  it('ignores what was under way to a stream that we reset, and gives the room back', async () => {
    await using ours = await againstClient();
    ours.peer.send(headers(1));
    await eventually(() => expect(ours.arrived).toHaveLength(1));
    ours.arrived[0]?.cancel();
    ours.peer.send(data(1, Buffer.alloc(32_768)), headers(1, [['x', 'y']], true), windowUpdateFrame(1, 5));
    ours.peer.send(rstStreamFrame(1, 8), pingFrame(Buffer.alloc(8), false));
    await ours.peer.next(FRAME.ping);
    expect((await ours.peer.next(FRAME.windowUpdate, 0)).payload).toEqual(uint32(32_768));
    expect(ours.session.destroyed).toBe(false);
  });

  it('keeps what a refused request says about the HPACK table', async () => {
    await using ours = await againstClient({ maxConcurrentStreams: 1 });
    const indexed = Buffer.concat([
      headers(3).subarray(9),
      Buffer.from([0x40, 1]),
      Buffer.from('a'),
      Buffer.from([1]),
      Buffer.from('b'),
    ]);
    ours.peer.send(headers(1), frame(FRAME.headers, FLAG.endHeaders, 3, indexed));
    expect(await ours.peer.resetCode(3)).toBe(CODE.refusedStream);
    const heads: unknown[] = [];
    ours.session.on('stream', (_stream, head) => heads.push(head.fields));
    ours.peer.send(
      rstStreamFrame(1, 8),
      frame(FRAME.headers, FLAG.endHeaders, 5, Buffer.concat([headers(5).subarray(9), Buffer.from([0x80 | 62])])),
    );
    await eventually(() => expect(heads).toEqual([[['a', 'b']]]));
  });
});

describe('GOAWAY', () => {
  it('never names a request that was refused, nor a higher number than before', async () => {
    await using ours = await againstClient();
    ours.peer.send(headers(1));
    await eventually(() => expect(ours.arrived).toHaveLength(1));
    ours.session.shutdown();
    await ours.peer.next(FRAME.goaway);
    ours.peer.send(headers(3));
    expect(await ours.peer.resetCode(3)).toBe(CODE.refusedStream);
    ours.session.destroy(null, CODE.noError);
    await eventually(() => expect(ours.peer.gone).toBe(true));
    expect(ours.peer.of(FRAME.goaway).map(({ payload }) => payload.readUInt32BE(0))).toEqual([1, 1]);
  });

  it('ends the requests that the peer did not look at, and only those', async () => {
    await using ours = await againstServer();
    const [first, second] = [new Recorder(ours.session.request(REQUEST)), new Recorder(ours.session.request(REQUEST))];
    await ours.peer.next(FRAME.headers, 3);
    ours.peer.send(goawayFrame(1));
    expect(await second.closed).toBe(CODE.refusedStream);
    expect(() => ours.session.request(REQUEST)).toThrow('closed');
    ours.peer.send(headers(1, [[':status', '200']]), data(1, 'x', true));
    await first.ended;
    expect(first.told).toEqual(['head 200', 'x', 'end']);
  });

  it('may come again, but not for ever', async () => {
    await using ours = await againstServer();
    ours.peer.send(...Array.from({ length: 200 }, () => goawayFrame(LARGEST)));
    expect(await ours.peer.goawayCode()).toBe(CODE.enhanceYourCalm);
  });
});
