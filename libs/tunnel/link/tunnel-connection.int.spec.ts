// @process own: it measures the memory of its process
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FairleadError } from '@fairlead/errors';
import { HTTP2_CODE } from '@fairlead/http2';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeControl, encodeDataHeader } from '../core/index.js';
import { ScriptStream } from '../testing/script-stream.js';
import { OPEN, collect, pattern, sessionPair, type SessionPair } from '../testing/tunnel-pair.js';
import { TunnelConnection } from './index.js';

const never = new AbortController().signal;
let pair: SessionPair;

beforeAll(async () => {
  pair = await sessionPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

/** Not events.once: that rejects with the error of a tunnel that was reset. */
const ended = (tunnel: TunnelConnection): Promise<void> =>
  new Promise((resolve) => (tunnel.closed ? resolve() : tunnel.once('close', resolve)));

describe('bytes', () => {
  it('arrive exactly, both ways at once, written in pieces of any size', async () => {
    const { opener, acceptor } = await pair.opened();
    const up = pattern(3_000_000, 7);
    const down = pattern(2_000_000, 9);
    const reading = Promise.all([collect(opener), collect(acceptor)]);
    const cut = (to: TunnelConnection, bytes: Buffer): void => {
      let at = 0;
      for (let size = 1; at < bytes.length; size = ((size * 7 + 3) % 200_000) + 1) {
        to.write(bytes.subarray(at, at + size));
        at += size;
      }
      to.end();
    };
    cut(opener, up);
    cut(acceptor, down);
    const [atOpener, atAcceptor] = await reading;
    expect(atAcceptor.equals(up)).toBe(true);
    expect(atOpener.equals(down)).toBe(true);
    await Promise.all([ended(opener), ended(acceptor)]);
    for (const { state } of [opener, acceptor]) expect(state).toEqual({ phase: 'closed', cause: 'complete' });
  });

  it.each(['opener', 'acceptor'] as const)('written by the %s before its end are never lost', async (writer) => {
    const bytes = pattern(5_000_000);
    for (let round = 0; round < 25; round += 1) {
      const tunnel = await pair.opened();
      const [from, to] = writer === 'opener' ? [tunnel.opener, tunnel.acceptor] : [tunnel.acceptor, tunnel.opener];
      from.end(bytes);
      from.resume();
      const received = await collect(to, round % 5 === 0 ? 2 : 0);
      expect(received.equals(bytes)).toBe(true);
      to.end();
      await ended(from);
    }
  });

  it.each(['opener', 'acceptor'] as const)('still flow when the %s has ended its own direction', async (first) => {
    const tunnel = await pair.opened();
    const [ender, other] = first === 'opener' ? [tunnel.opener, tunnel.acceptor] : [tunnel.acceptor, tunnel.opener];
    const bytes = pattern(1_000_000);
    const reading = collect(ender);
    ender.end('last words');
    expect((await collect(other)).toString()).toBe('last words');
    other.end(bytes);
    expect((await reading).equals(bytes)).toBe(true);
    await Promise.all([ended(ender), ended(other)]);
  });
});

describe('an end', () => {
  it('by destroy is a Reset that the peer sees with its code', async () => {
    const { opener, acceptor } = await pair.opened();
    const seen = once(acceptor, 'error');
    acceptor.resume();
    opener.destroy(new FairleadError('DRAINING', 'leaving'));
    expect((await seen)[0]).toMatchObject({ code: 'DRAINING', message: 'leaving' });
    expect(acceptor.state).toEqual({ phase: 'closed', cause: 'reset' });
  });

  it('by a foreign error is INTERNAL, without its words', async () => {
    const { opener, acceptor } = await pair.opened();
    const seen = once(opener, 'error');
    opener.resume();
    acceptor.destroy(new Error('the secret is 42'));
    const [error] = (await seen) as [FairleadError];
    expect(error.code).toBe('INTERNAL');
    expect(error.message).not.toContain('42');
  });

  it('of the whole connection is TUNNEL_RESET at both ends, and fails a write that waits', async () => {
    await using other = await sessionPair();
    const { opener, acceptor } = await other.opened();
    const seen = Promise.all([once(opener, 'error'), once(acceptor, 'error')]);
    const written = new Promise((resolve) => opener.write(pattern(8_000_000), resolve));
    await delay(50);
    other.cut();
    for (const [error] of await seen) expect(error).toMatchObject({ code: 'TUNNEL_RESET' });
    expect(await written).toMatchObject({ code: 'TUNNEL_RESET' });
  });

  it('of the stream alone, without Eof, is TUNNEL_RESET: a cut answer never looks whole', async () => {
    const ends = await pair.stream();
    const script = new ScriptStream(ends.server);
    const acceptor = new TunnelConnection(ends.client, 'acceptor');
    acceptor.once('open', () => acceptor.accept());
    acceptor.resume();
    script.resume();
    script.write(encodeControl({ case: 'open', value: OPEN }));
    await once(acceptor, 'open');
    const seen = once(acceptor, 'error');
    script.end(Buffer.concat([encodeDataHeader(100), Buffer.alloc(50)]));
    expect((await seen)[0]).toMatchObject({ code: 'TUNNEL_RESET' });
  });
});

describe('open', () => {
  it('rejects with the code of the refusal', async () => {
    const { opener, acceptor } = await pair.parked();
    acceptor.once('open', () => acceptor.refuse(new FairleadError('TARGET_REFUSED', 'not that')));
    await expect(opener.open(OPEN, never)).rejects.toMatchObject({ code: 'TARGET_REFUSED', message: 'not that' });
    await Promise.all([ended(opener), ended(acceptor)]);
    expect(acceptor.state).toEqual({ phase: 'closed', cause: 'refused' });
  });

  it('rejects with the signal’s reason, and the acceptor learns of it', async () => {
    const { opener, acceptor } = await pair.parked();
    const leaving = new AbortController();
    const opening = opener.open(OPEN, leaving.signal);
    await once(acceptor, 'open');
    leaving.abort(new FairleadError('DEADLINE_EXCEEDED', 'too late'));
    await expect(opening).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await ended(acceptor);
  });

  it('rejects at once with a signal that was aborted before', async () => {
    const { opener, acceptor } = await pair.parked();
    const signal = AbortSignal.abort(new FairleadError('UNAVAILABLE', 'no'));
    await expect(opener.open(OPEN, signal)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await ended(acceptor);
  });

  it('rejects when Opened and the end come in one piece', async () => {
    const ends = await pair.stream();
    const script = new ScriptStream(ends.client);
    const opener = new TunnelConnection(ends.server, 'opener');
    const opening = opener.open(OPEN, never);
    await once(script, 'data');
    const value = { $typeName: 'fairlead.link.v1.Reset' as const, code: 'TARGET_UNREACHABLE', message: 'gone again' };
    const opened = encodeControl({ case: 'opened', value: { $typeName: 'fairlead.link.v1.Opened' } });
    script.write(Buffer.concat([opened, encodeControl({ case: 'reset', value })]));
    await expect(opening).rejects.toMatchObject({ code: 'TARGET_UNREACHABLE', message: 'gone again' });
    await ended(opener);
  });

  it('rejects with TUNNEL_RESET when the peer vanishes, before it or after', async () => {
    await using other = await sessionPair();
    const [waiting, unused, stream] = [await other.parked(), await other.parked(), await other.stream()];
    const opening = waiting.opener.open(OPEN, never);
    await once(waiting.acceptor, 'open');
    other.cut();
    await expect(opening).rejects.toMatchObject({ code: 'TUNNEL_RESET' });
    await ended(unused.opener);
    await expect(unused.opener.open(OPEN, never)).rejects.toMatchObject({ code: 'TUNNEL_RESET' });
    await new Promise<void>((resolve) => stream.server.onceClosed(resolve));
    const late = new TunnelConnection(stream.server, 'opener');
    await expect(late.open(OPEN, never)).rejects.toMatchObject({ code: 'TUNNEL_RESET' });
  });
});

describe('a hostile peer', () => {
  const data = Buffer.concat([encodeDataHeader(3), Buffer.from('abc')]);
  const opened = encodeControl({ case: 'opened', value: { $typeName: 'fairlead.link.v1.Opened' } });
  const eof = encodeControl({ case: 'eof', value: { $typeName: 'fairlead.link.v1.Eof' } });
  const open = encodeControl({ case: 'open', value: OPEN });

  it.each([
    ['data before Opened', [data]],
    ['Eof before Opened', [eof]],
    ['Open from the wrong end', [open]],
    ['Opened twice', [opened, opened]],
    ['data after Eof', [opened, eof, data]],
    ['garbage', [Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
  ])('as acceptor: %s is PROTOCOL_ERROR', async (_, frames) => {
    const ends = await pair.stream();
    const script = new ScriptStream(ends.client);
    const opener = new TunnelConnection(ends.server, 'opener');
    const seen = once(opener, 'error');
    opener.open(OPEN, never).catch(() => undefined);
    await once(script, 'data');
    for (const frame of frames) script.write(frame);
    expect((await seen)[0]).toMatchObject({ code: 'PROTOCOL_ERROR' });
  });

  it.each([
    ['data before Open', [data]],
    ['Opened from the wrong end', [opened]],
    ['Open twice', [open, open]],
    ['data before Opened', [open, data]],
  ])('as opener: %s is PROTOCOL_ERROR', async (_, frames) => {
    const ends = await pair.stream();
    const script = new ScriptStream(ends.server);
    const acceptor = new TunnelConnection(ends.client, 'acceptor');
    const seen = once(acceptor, 'error');
    script.resume();
    for (const frame of frames) script.write(frame);
    expect((await seen)[0]).toMatchObject({ code: 'PROTOCOL_ERROR' });
  });

  it('that goes on after both ends are complete is not heard, and does not cost what was received', async () => {
    const ends = await pair.stream();
    const script = new ScriptStream(ends.client);
    const opener = new TunnelConnection(ends.server, 'opener');
    const opening = opener.open(OPEN, never);
    await once(script, 'data');
    script.write(Buffer.concat([opened, data, eof]));
    await opening;
    opener.end();
    await eventually(() => expect(opener.state.phase).toBe('closed'));
    script.write(Buffer.concat([data, data, open]));
    await delay(50);
    expect((await collect(opener)).toString()).toBe('abc');
  });

  it('that never ends a stream after a Reset does not keep it: it is cancelled', async () => {
    const ends = await pair.stream();
    const script = new ScriptStream(ends.client);
    const opener = new TunnelConnection(ends.server, 'opener');
    script.resume();
    const closed = once(script, 'close');
    opener.destroy();
    await closed;
    expect(script.rstCode).toBe(HTTP2_CODE.cancel);
  });
});

describe('a reader that stalls', () => {
  it('stops its own writer within bounds, and no other tunnel of the session', async () => {
    const stalled = [];
    for (let i = 0; i < 30; i += 1) stalled.push(await pair.opened());
    const before = process.memoryUsage();
    const piece = Buffer.alloc(64 * 1024, 1);
    const written = stalled.map(({ opener }) => {
      let bytes = 0;
      while (bytes < 32 * 1024 * 1024 && opener.write(piece)) bytes += piece.length;
      opener.on('drain', () => {
        while (bytes < 32 * 1024 * 1024 && opener.write(piece)) bytes += piece.length;
      });
      return () => bytes;
    });
    const lively = await pair.opened();
    const bytes = pattern(5_000_000);
    lively.opener.end(bytes);
    expect((await collect(lively.acceptor)).equals(bytes)).toBe(true);
    await delay(200);
    for (const count of written) expect(count()).toBeLessThan(4 * 1024 * 1024);
    const after = process.memoryUsage();
    expect(after.arrayBuffers + after.external - before.arrayBuffers - before.external).toBeLessThan(
      30 * 2 * 4 * 1024 * 1024,
    );
    for (const { opener, acceptor } of stalled) {
      opener.destroy();
      acceptor.destroy();
    }
    lively.acceptor.end();
    lively.opener.resume();
    await ended(lively.opener);
  });
});

describe('after many tunnels, cancelled anywhere', () => {
  it('no stream and no listener remains', async () => {
    await using other = await sessionPair();
    const listeners = (): number =>
      [other.client, other.server]
        .flatMap((session) => session.eventNames().map((name) => session.listenerCount(name)))
        .reduce((sum, count) => sum + count, 0);
    const before = listeners();
    let open = 0;
    const count = (tunnel: TunnelConnection): void => {
      open += 1;
      tunnel.once('close', () => (open -= 1));
    };
    const shared = new AbortController();
    for (let round = 0; round < 1_000; round += 1) {
      const { opener, acceptor } = await other.parked();
      count(opener);
      count(acceptor);
      const step = round % 8;
      acceptor.once('open', () => (step === 1 ? acceptor.destroy() : acceptor.accept()));
      if (step === 0) opener.destroy();
      const opening = opener.open(OPEN, shared.signal);
      opening.catch(() => undefined);
      if (step === 2) opener.destroy();
      if (step > 2) await opening;
      if (step === 3) opener.write('x');
      if (step === 4) opener.end('x');
      if (step === 5) acceptor.end('x');
      if (step > 2) (round % 2 ? opener : acceptor).destroy();
    }
    await eventually(() => expect(open).toBe(0));
    await eventually(() => expect([other.client.queuedBytes, other.client.streams.size]).toEqual([0, 0]));
    expect(listeners()).toBe(before);
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThan(50);
  });
});
