import { describe, expect, it, vi } from 'vitest';
import { SendBuffer, UnclaimedBytes } from './buffers.js';
import { Guard } from './guard.js';
import { DEFAULT_ABUSE_LIMITS } from './options.js';
import { Pings } from './session.js';
import { StreamTable } from './stream-table.js';
import type { Http2Stream } from './stream.js';
import { CODE } from './wire/constants.js';

const stream = (id: number, ended = false): Http2Stream => ({ id, ended }) as unknown as Http2Stream;

describe('Guard', () => {
  it('allows a burst, and then what time brings', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const guard = new Guard({ ...DEFAULT_ABUSE_LIMITS, pings: { burst: 3, perSecond: 2 } });
      const counted = (times: number): boolean[] =>
        Array.from({ length: times }, () => {
          try {
            guard.count('pings');
            return true;
          } catch {
            return false;
          }
        });
      expect(counted(4)).toEqual([true, true, true, false]);
      vi.advanceTimersByTime(500);
      expect(counted(2)).toEqual([true, false]);
      vi.advanceTimersByTime(60_000);
      expect(counted(4)).toEqual([true, true, true, false]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('counts each kind by itself, and names it', () => {
    const guard = new Guard({ ...DEFAULT_ABUSE_LIMITS, pings: { burst: 2, perSecond: 0 } });
    guard.count('pings');
    guard.count('pings');
    guard.count('resets');
    const flood = { code: CODE.enhanceYourCalm, violation: 'ping-flood' };
    expect(() => guard.count('pings')).toThrow(expect.objectContaining(flood));
  });
});

describe('Pings', () => {
  it('answer each by its own number, whatever else comes', async () => {
    const pings = new Pings();
    const answers: (number | null)[] = [];
    const [first, second] = [pings.next((ms) => answers.push(ms)), pings.next((ms) => answers.push(ms))];
    pings.answer(Buffer.alloc(8, 9));
    pings.answer(second);
    pings.answer(second);
    expect(answers).toEqual([expect.any(Number)]);
    pings.close();
    expect(answers).toEqual([expect.any(Number), null]);
    pings.answer(first);
    expect(answers).toHaveLength(2);
  });
});

describe('StreamTable', () => {
  it('numbers streams of a client odd, and takes even ones of nobody but a server', () => {
    const table = new StreamTable('client');
    expect([table.nextOwn(), table.nextOwn()]).toEqual([1, 3]);
    expect([table.peerBegins(2), table.peerBegins(5), table.peerBegins(2), table.peerBegins(4)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect([1, 3, 5, 2, 4, 6].map((id) => table.isIdle(id))).toEqual([false, false, true, false, false, true]);
  });

  it('tells refused streams from those it took up, and whose they are', () => {
    const table = new StreamTable('server');
    table.peerBegins(1);
    table.add(stream(1));
    table.peerBegins(3);
    expect(table.lastTaken).toBe(1);
    table.add(stream(table.nextOwn()));
    expect([table.size, table.openByPeer, table.openByUs]).toEqual([2, 1, 1]);
    table.remove(stream(1));
    table.remove(stream(1));
    expect([table.size, table.openByPeer]).toEqual([1, 0]);
  });

  it('remembers the last that the peer was done with, and no more', () => {
    const table = new StreamTable('server');
    for (let id = 1; id < 2_000; id += 2) {
      table.add(stream(id));
      table.remove(stream(id, id !== 1_999));
    }
    expect([1_999, 1_997, 1_487, 1_485].map((id) => table.isDone(id))).toEqual([false, true, true, false]);
  });

  it('knows when its numbers are used up', () => {
    const table = new StreamTable('client', 2 ** 31 - 5);
    expect(table.isUsedUp).toBe(false);
    expect(table.nextOwn()).toBe(2 ** 31 - 3);
    expect(table.nextOwn()).toBe(2 ** 31 - 1);
    expect(table.isUsedUp).toBe(true);
  });
});

describe('SendBuffer', () => {
  it('gives what it was given, in order, however it is cut', () => {
    const buffer = new SendBuffer();
    for (const text of ['abc', '', 'defgh', 'i']) buffer.push(Buffer.from(text));
    const taken: Buffer[] = [];
    for (const bytes of [2, 1, 0, 4, 2]) buffer.moveTo(taken, bytes);
    expect(taken.map(String)).toEqual(['ab', 'c', 'defg', 'h', 'i']);
    expect(buffer.bytes).toBe(0);
  });
});

describe('UnclaimedBytes', () => {
  it('gives what it was given, in order', () => {
    const unclaimed = new UnclaimedBytes();
    const given = Buffer.from(Array.from({ length: 40_000 }, (_, index) => index % 251));
    for (let at = 0, size = 1; at < given.length; at += size, size = (size * 7) % 5_003) {
      unclaimed.push(given.subarray(at, at + size));
    }
    const taken: Buffer[] = [];
    for (let piece = unclaimed.shift(); piece; piece = unclaimed.shift()) taken.push(piece);
    expect(Buffer.concat(taken).equals(given)).toBe(true);
    expect(unclaimed.isEmpty).toBe(true);
    unclaimed.push(Buffer.from('again'));
    expect(String(unclaimed.shift())).toBe('again');
  });

  it('keeps no object for each byte, and nothing of what was read with it', () => {
    const unclaimed = new UnclaimedBytes();
    const read = Buffer.alloc(65_536, 'x');
    for (let index = 0; index < 20_000; index += 1) unclaimed.push(read.subarray(index, index + 1));
    const pieces: Buffer[] = [];
    for (let piece = unclaimed.shift(); piece; piece = unclaimed.shift()) pieces.push(piece);
    expect(pieces.map(({ length }) => length)).toEqual([16_384, 3_616]);
    expect(pieces.every(({ buffer }) => buffer !== read.buffer)).toBe(true);
  });
});
