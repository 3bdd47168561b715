import { HTTP2_CODE, HTTP2_PREFACE } from '@fairlead/http2';
import { FLAG, FRAME, frame, goawayFrame, pingFrame, settingsFrame, windowUpdateFrame } from '@fairlead/http2/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Http2HeadReader, countFrames, type Http2Head } from './http2-head-reader.js';

const MAX_BYTES = 96 * 1024;
const HELLO = Buffer.concat([HTTP2_PREFACE, settingsFrame([[3, 100]])]);
const headers = (bytes: number, flags: number = FLAG.endHeaders | FLAG.endStream): Buffer =>
  frame(FRAME.headers, flags, 1, Buffer.alloc(bytes, 0x82));
const continuation = (flags: number, streamId = 1): Buffer =>
  frame(FRAME.continuation, flags, streamId, Buffer.alloc(9));
const acknowledgement = frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));
const read = (...sent: readonly Buffer[]): Http2Head => new Http2HeadReader(MAX_BYTES).push(Buffer.concat(sent));
const refused = (code: number): Http2Head => ({ kind: 'refused', code });

describe('the first head of a connection of HTTP/2', () => {
  it('is whole with the end of its block, and tells how much came behind it', () => {
    const sent = [HELLO, windowUpdateFrame(0, 1 << 20), headers(20)];
    const behind = frame(FRAME.data, 0, 1, Buffer.alloc(5_000));
    const bytes = Buffer.concat(sent);
    expect(read(...sent)).toEqual({ kind: 'complete', bytes, endsAt: bytes.length });
    expect(read(...sent, behind)).toMatchObject({ kind: 'complete', endsAt: bytes.length });
    expect(countFrames(Buffer.concat([bytes, behind, behind]), bytes.length, 9)).toBe(2);
    expect(countFrames(Buffer.concat([bytes, behind, behind]), bytes.length, 1)).toBe(1);
  });

  it('may go on in CONTINUATION, with nothing between', () => {
    const begun = [HELLO, headers(20, 0)];
    expect(read(...begun, continuation(0))).toEqual({ kind: 'incomplete' });
    expect(read(...begun, continuation(0), continuation(FLAG.endHeaders))).toMatchObject({ kind: 'complete' });
    expect(read(...begun, continuation(FLAG.endHeaders, 3))).toEqual(refused(HTTP2_CODE.protocolError));
    expect(read(...begun, pingFrame(Buffer.alloc(8), false))).toEqual(refused(HTTP2_CODE.protocolError));
    expect(read(...begun, ...Array.from({ length: 9 }, () => continuation(0)))).toEqual(
      refused(HTTP2_CODE.enhanceYourCalm),
    );
  });

  it('comes in pieces of any size', () => {
    const sent = Buffer.concat([HELLO, headers(300, 0), continuation(FLAG.endHeaders), windowUpdateFrame(1, 7)]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 20 }), (sizes) => {
        const reader = new Http2HeadReader(MAX_BYTES);
        let [at, last]: [number, Http2Head] = [0, { kind: 'incomplete' }];
        for (const size of [...sizes, sent.length]) {
          if (last.kind !== 'incomplete' || at >= sent.length) break;
          last = reader.push(sent.subarray(at, at + size));
          at += size;
        }
        expect(last.kind).toBe('complete');
        const { bytes, endsAt } = last as Http2Head & { kind: 'complete' };
        expect(bytes.equals(sent.subarray(0, bytes.length))).toBe(true);
        expect(endsAt).toBe(sent.length - windowUpdateFrame(1, 7).length);
      }),
    );
  });

  it.each([
    ['what is no HTTP/2', [Buffer.from('GET / HTTP/1.1\r\n\r\n')], HTTP2_CODE.protocolError],
    ['a preface without SETTINGS', [HTTP2_PREFACE, headers(20)], HTTP2_CODE.protocolError],
    ['an acknowledgement of nothing', [HELLO, acknowledgement], HTTP2_CODE.protocolError],
    ['GOAWAY', [HELLO, goawayFrame(0)], HTTP2_CODE.protocolError],
    ['DATA', [HELLO, frame(FRAME.data, 0, 1, Buffer.alloc(1))], HTTP2_CODE.protocolError],
    [
      'a request on stream 0',
      [HELLO, frame(FRAME.headers, FLAG.endHeaders, 0, Buffer.alloc(9))],
      HTTP2_CODE.protocolError,
    ],
    [
      'a frame that is too large, by its beginning',
      [HELLO, frame(0xfa, 0, 0, Buffer.alloc(16_385)).subarray(0, 9)],
      HTTP2_CODE.frameSizeError,
    ],
    [
      'WINDOW_UPDATE for ever',
      [HELLO, ...Array.from({ length: 40 }, () => windowUpdateFrame(0, 1))],
      HTTP2_CODE.enhanceYourCalm,
    ],
    [
      'unknown frames for ever',
      [HELLO, ...Array.from({ length: 40 }, () => frame(0xfa, 0, 0, Buffer.alloc(0)))],
      HTTP2_CODE.enhanceYourCalm,
    ],
    [
      'more bytes than all limits',
      [HELLO, ...Array.from({ length: 6 }, () => frame(0xfa, 0, 0, Buffer.alloc(16_384))), Buffer.alloc(1)],
      HTTP2_CODE.enhanceYourCalm,
    ],
  ] as const)('refuses %s', (_what, sent, code) => {
    expect(read(...sent)).toEqual(refused(code));
  });

  it('keeps the acknowledgement of what we sent from Node, wherever it comes, and waits for it', () => {
    for (const sent of [
      [acknowledgement, headers(20)],
      [headers(20), acknowledgement],
    ]) {
      const reader = new Http2HeadReader(MAX_BYTES);
      expect(reader.push(HELLO)).toEqual({ kind: 'incomplete' });
      reader.awaitAcknowledgement();
      expect(reader.push(sent[0] as Buffer)).toEqual({ kind: 'incomplete' });
      expect(reader.push(sent[1] as Buffer)).toEqual({
        kind: 'complete',
        bytes: Buffer.concat([HELLO, headers(20)]),
        endsAt: HELLO.length + headers(20).length,
      });
    }
  });
});
