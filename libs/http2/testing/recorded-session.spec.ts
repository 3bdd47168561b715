import { expect, it } from 'vitest';
import { encodeHeaders } from '../hpack/index.js';
import { FLAG, FRAME, PREFACE } from '../wire/constants.js';
import { frame, headersFrames, pingFrame, settingsFrame } from '../wire/frames.js';
import { readRecordedSession } from './recorded-session.js';

it('puts together what was said on a stream, whatever came between', () => {
  const head = encodeHeaders([
    [':path', '/a'],
    ['authorization', 'a secret of some length'],
  ]);
  const bytes = Buffer.concat([
    PREFACE,
    settingsFrame([[4, 65_535]]),
    headersFrames(1, head, false, 10),
    frame(FRAME.data, 0, 1, Buffer.from('a word that is sp')),
    frame(FRAME.data, FLAG.endStream, 3, Buffer.from('another')),
    pingFrame(Buffer.from('12345678'), false),
    frame(FRAME.data, FLAG.padded | FLAG.endStream, 1, Buffer.from('\x03lit\0\0\0', 'latin1')),
    // The beginning of one that is still on its way.
    frame(FRAME.data, 0, 5, Buffer.from('half of it')).subarray(0, 13),
  ]);
  expect(bytes.includes('a secret of some length')).toBe(false);
  const streams = readRecordedSession(bytes, 'client');
  expect(streams.get(1)?.headers).toEqual([':path: /a', 'authorization: a secret of some length']);
  expect(streams.get(1)?.data.toString()).toBe('a word that is split');
  expect(streams.get(3)?.data.toString()).toBe('another');
  expect(streams.get(5)?.data.toString()).toBe('half');
});

it('is not taken in by what is no HTTP/2', () => {
  expect(() => readRecordedSession(Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'client')).toThrow(/./);
});
