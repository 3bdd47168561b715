import { expect, it } from 'vitest';
import { CODE, FLAG, FRAME, PREFACE } from './constants.js';
import { FrameReader, type FrameSink } from './frame-reader.js';
import { frame, goawayFrame, pingFrame, settingsFrame, windowUpdateFrame } from './frames.js';

/** Keeps what a reader tells, DATA put together, so that two ways to cut the same bytes can be compared. */
class Told implements FrameSink {
  readonly frames: string[] = [];
  #pieces: Buffer[] = [];
  #head = '';

  onDataBegin(streamId: number, length: number, padding: number): void {
    this.#head = `data ${streamId} ${length} ${padding}`;
  }

  onDataPiece(piece: Buffer): void {
    if (piece.length === 0) throw new Error('a piece of nothing');
    this.#pieces.push(Buffer.from(piece));
  }

  onDataEnd(endStream: boolean): void {
    this.frames.push(`${this.#head} ${endStream} ${Buffer.concat(this.#pieces.splice(0)).toString('hex')}`);
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.frames.push(`${type} ${flags} ${streamId} ${payload.toString('hex')}`);
  }
}

const SAMPLE = Buffer.concat([
  PREFACE,
  settingsFrame([[4, 65_535]]),
  frame(FRAME.headers, FLAG.endHeaders, 1, Buffer.alloc(300, 'h')),
  frame(FRAME.data, 0, 1, Buffer.alloc(500, 'd')),
  frame(FRAME.data, 0, 1, Buffer.alloc(0)),
  frame(FRAME.data, FLAG.padded, 3, Buffer.from('\x05hello\0\0\0\0\0', 'latin1')),
  frame(FRAME.data, FLAG.padded, 3, Buffer.from([0])),
  frame(FRAME.data, FLAG.padded | FLAG.endStream, 3, Buffer.from([3, 0, 0, 0])),
  pingFrame(Buffer.from('12345678'), false),
  windowUpdateFrame(0x8000_0001, 5),
  frame(0xfa, 0xff, 9, Buffer.alloc(16_384, 'x')),
  frame(FRAME.data, FLAG.endStream, 1, Buffer.alloc(2_000, 'e')),
  goawayFrame(1),
]);

function readIn(sizeOf: () => number): string[] {
  const told = new Told();
  const reader = new FrameReader(told, 4_096, true);
  for (let at = 0; at < SAMPLE.length;) {
    const end = Math.min(SAMPLE.length, at + sizeOf());
    // A copy that is overwritten after: nothing may be read later that was only seen.
    const chunk = Buffer.from(SAMPLE.subarray(at, end));
    reader.push(chunk);
    chunk.fill(0xee);
    at = end;
  }
  return told.frames;
}

it('tells the same, however the bytes are cut', () => {
  const whole = readIn(() => SAMPLE.length);
  expect(whole).toHaveLength(12);
  expect(whole.slice(2, 8)).toEqual([
    `data 1 500 0 false ${'64'.repeat(500)}`,
    'data 1 0 0 false ',
    `data 3 11 6 false ${Buffer.from('hello').toString('hex')}`,
    'data 3 1 1 false ',
    'data 3 4 4 true ',
    `6 0 0 ${Buffer.from('12345678').toString('hex')}`,
  ]);
  expect(whole[8]).toBe('8 0 1 00000005');
  expect(readIn(() => 1)).toEqual(whole);
  for (let seed = 1; seed <= 200; seed += 1) {
    let state = seed;
    const most = 1 + ((seed * 37) % 700);
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return 1 + ((state >>> 8) % most);
    };
    expect(readIn(random), `seed ${seed}`).toEqual(whole);
  }
});

it('refuses what is not HTTP/2 at the first byte that differs', () => {
  const reader = new FrameReader(new Told(), 16_384, true);
  reader.push(Buffer.from('PRI * HT'));
  expect(() => reader.push(Buffer.from('X'))).toThrow(expect.objectContaining({ code: CODE.protocolError }));
});

it('refuses by the header alone what is too large', () => {
  const refused = expect.objectContaining({ code: CODE.frameSizeError });
  const header = (type: number, length: number): Buffer => frame(type, 0, 1, Buffer.alloc(length)).subarray(0, 9);
  const read = (bytes: Buffer) => () => new FrameReader(new Told(), 20_000, false).push(bytes);
  expect(read(header(FRAME.data, 20_001))).toThrow(refused);
  expect(read(header(FRAME.data, 20_000))).not.toThrow();
  expect(read(header(FRAME.headers, 16_385))).toThrow(refused);
  expect(read(header(0xfa, 16_385))).toThrow(refused);
});
