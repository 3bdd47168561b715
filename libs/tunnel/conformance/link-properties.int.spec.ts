// @process own: it measures the memory of its process
import { createHash } from 'node:crypto';
import { eventually } from '@fairlead/testing';
import { TunnelConnection as Connection, type TunnelConnection } from '@fairlead/tunnel/link';
import { OPEN, ScriptStream, collect, pattern, sessionPair, type SessionPair } from '@fairlead/tunnel/testing';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { data, eof, opened, reset } from './wire.js';
import { TunnelScript } from './tunnel-script.js';
import { PROPERTY_RUNS } from './runs.js';

const TUNNELS = 64;
const never = new AbortController().signal;

let pair: SessionPair;

beforeAll(async () => {
  pair = await sessionPair();
});

afterAll(() => pair[Symbol.asyncDispose]());

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const closed = (tunnel: TunnelConnection): Promise<void> =>
  new Promise((resolve) => (tunnel.closed ? resolve() : tunnel.once('close', resolve)));

/** What remains of a session when nothing goes on: streams by both ends' counting, listeners, timers of this process. */
function remains({ client, server }: SessionPair): Record<string, number> {
  const listeners = [client, server].flatMap((session) =>
    session.eventNames().map((name) => session.listenerCount(name)),
  );
  const kinds = process.getActiveResourcesInfo();
  return {
    listeners: listeners.reduce((sum, count) => sum + count, 0),
    queued: client.queuedBytes + server.queuedBytes,
    streams: client.streams.size + server.streams.size,
    sockets: kinds.filter((kind) => kind === 'TCPSocketWrap').length,
  };
}

/** The same once nothing waits to be sent any more: what a beginning queued must not count as a baseline. */
function quiet(pair: SessionPair): Promise<Record<string, number>> {
  return eventually(() => {
    const now = remains(pair);
    if (now['queued'] !== 0 || now['streams'] !== 0) throw new Error('something of before still goes on');
    return now;
  });
}

const chunks = fc.array(fc.nat({ max: 70_000 }), { maxLength: 12 });

/** Writes pieces of these sizes, heeding or not heeding back pressure, and ends. */
function speak(tunnel: TunnelConnection, sizes: readonly number[], seed: number): Buffer {
  const pieces = sizes.map((size, i) => pattern(size, seed + i));
  for (const piece of pieces) tunnel.write(piece);
  tunnel.end();
  return Buffer.concat(pieces);
}

/** What a reader is told of each ending. */
const TOLD = { eof: 'whole', reset: 'DRAINING', cancel: 'TUNNEL_RESET', end: 'TUNNEL_RESET' } as const;

describe('a tunnel', () => {
  it('delivers whatever both ends write, in any pieces, exactly and in order', async () => {
    await fc.assert(
      fc.asyncProperty(chunks, chunks, fc.nat({ max: 3 }), async (up, down, pauseMs) => {
        const { opener, acceptor } = await pair.opened();
        const [atOpener, atAcceptor] = [collect(opener, pauseMs), collect(acceptor, pauseMs)];
        const [sentUp, sentDown] = [speak(opener, up, 1), speak(acceptor, down, 1_000)];
        expect(sha256(await atAcceptor)).toBe(sha256(sentUp));
        expect(sha256(await atOpener)).toBe(sha256(sentDown));
        await Promise.all([closed(opener), closed(acceptor)]);
        expect([opener.state, acceptor.state]).toEqual([
          { phase: 'closed', cause: 'complete' },
          { phase: 'closed', cause: 'complete' },
        ]);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  const legal = fc.record({
    bodies: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
    cuts: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 6 }),
    ending: fc.constantFrom(...(['eof', 'reset', 'cancel', 'end'] as const)),
  });

  it('takes every legal order of frames, cut anywhere, and tells each ending as what it is', async () => {
    await fc.assert(
      fc.asyncProperty(legal, async ({ bodies, cuts, ending }) => {
        const ends = await pair.stream();
        const script = new TunnelScript(new ScriptStream(ends.client));
        const opener = new Connection(ends.server, 'opener');
        const opening = opener.open(OPEN, never);
        await script.heard('open');
        await send(script, Buffer.concat([opened, ...bodies.map(data)]), cuts);
        await opening;
        const reading = collect(opener).then(
          (bytes) => (bytes.equals(Buffer.concat(bodies)) ? 'whole' : 'not what was sent'),
          ({ code }: { code?: string }) => code,
        );
        if (ending === 'eof') await send(script, eof, cuts);
        if (ending === 'reset') await send(script, reset('DRAINING'), cuts);
        if (ending === 'cancel') script.cancel(8);
        if (ending === 'end') script.end();
        expect(await reading).toBe(TOLD[ending]);
        opener.end();
        script.stream.end();
        await Promise.all([closed(opener), script.gone()]);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('cancelled by either end at any step leaves nothing behind', async () => {
    const before = await quiet(pair);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 6 }), fc.boolean(), fc.nat({ max: 200_000 }), async (step, byOpener, size) => {
        const { opener, acceptor } = await pair.parked();
        const [who, other] = byOpener ? [opener, acceptor] : [acceptor, opener];
        other.resume();
        acceptor.once('open', () => (step === 1 ? who.destroy() : acceptor.accept()));
        if (step === 0) who.destroy();
        const opening = opener.open(OPEN, never).then(
          () => true,
          () => false,
        );
        if (step > 1 && (await opening)) {
          if (step > 2) who.write(pattern(size));
          if (step > 3) other.write(pattern(size));
          if (step === 5) who.end();
          if (step === 6) other.end();
          who.destroy();
        }
        await Promise.all([closed(opener), closed(acceptor)]);
      }),
      { numRuns: PROPERTY_RUNS * 4 },
    );
    await eventually(() => expect(remains(pair)).toEqual(before));
  });
});

describe('64 tunnels at once on one session', () => {
  it('deliver everything, each its own, and leave nothing behind', async () => {
    const before = await quiet(pair);
    const tunnels: Awaited<ReturnType<SessionPair['opened']>>[] = [];
    while (tunnels.length < TUNNELS) tunnels.push(await pair.opened());
    // Both ends of all at the same time: more than the kernel takes in either direction.
    const received = tunnels.flatMap(({ opener, acceptor }, i) => {
      const bytes = pattern(600_000 + i * 1_000, i + 1);
      opener.end(bytes);
      acceptor.end(bytes);
      return [opener, acceptor].map(async (end) => expect(sha256(await collect(end, i % 8))).toBe(sha256(bytes)));
    });
    await Promise.all(received);
    await Promise.all(tunnels.flatMap(({ opener, acceptor }) => [closed(opener), closed(acceptor)]));
    await eventually(() => expect(remains(pair)).toEqual(before));
  });
});

/** The bytes in pieces of these sizes, each in a DATA frame of its own. */
async function send(script: TunnelScript<ScriptStream>, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  for (let at = 0, i = 0; at < bytes.length; i += 1) {
    const size = cuts[i % cuts.length] ?? 1;
    const piece = bytes.subarray(at, at + size);
    await new Promise<void>((resolve) => void script.stream.write(piece, () => resolve()));
    at += size;
  }
}
