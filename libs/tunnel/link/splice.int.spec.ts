import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FairleadError } from '@fairlead/errors';
import { HTTP2_CODE, type Http2Stream } from '@fairlead/http2';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeControl, encodeDataHeader } from '../core/index.js';
import { ScriptStream } from '../testing/script-stream.js';
import { OPEN, collect, pattern, sessionPair, type SessionPair } from '../testing/tunnel-pair.js';
import { TunnelConnection, splice, type SplicedBytes } from './index.js';

/** Two real sessions, joined in the middle: opener ── near ── splice ── far ── acceptor. */
interface Relayed {
  readonly near: Http2Stream;
  readonly far: Http2Stream;
  readonly joined: Promise<SplicedBytes>;
  readonly openerStream: Http2Stream;
  readonly acceptorStream: Http2Stream;
}

const never = new AbortController().signal;
let left: SessionPair;
let right: SessionPair;

beforeAll(async () => {
  [left, right] = await Promise.all([sessionPair(), sessionPair()]);
});

afterAll(async () => {
  await left[Symbol.asyncDispose]();
  await right[Symbol.asyncDispose]();
});

/** As a relaying replica does it: the opener comes in as a client, the agent's parked stream is the other end. */
async function relay(): Promise<Relayed> {
  const [towardsOpener, towardsAgent] = [await left.stream(), await right.stream()];
  const [near, far] = [towardsOpener.server, towardsAgent.server];
  const joined = splice(near, far);
  return { near, far, joined, openerStream: towardsOpener.client, acceptorStream: towardsAgent.client };
}

async function opened(): Promise<Relayed & { opener: TunnelConnection; acceptor: TunnelConnection }> {
  const relayed = await relay();
  const opener = new TunnelConnection(relayed.openerStream, 'opener');
  const acceptor = new TunnelConnection(relayed.acceptorStream, 'acceptor');
  acceptor.once('open', () => acceptor.accept());
  await opener.open(OPEN, never);
  return { ...relayed, opener, acceptor };
}

const gone = (relayed: Relayed): Promise<void> =>
  eventually(() => {
    const streams = [relayed.near, relayed.far, relayed.openerStream, relayed.acceptorStream];
    expect(streams.map((stream) => stream.closed)).toEqual([true, true, true, true]);
  });

describe('a relayed tunnel', () => {
  it.each([
    ['a fast reader', 0],
    ['a slow reader', 2],
  ])('loses nothing that was written before an end, with %s, in either direction', async (_, pauseMs) => {
    const bytes = pattern(5_000_000);
    for (let round = 0; round < 10; round += 1) {
      const tunnel = await opened();
      const [from, to] = round % 2 === 0 ? [tunnel.opener, tunnel.acceptor] : [tunnel.acceptor, tunnel.opener];
      from.resume();
      from.end(bytes);
      expect((await collect(to, pauseMs)).equals(bytes)).toBe(true);
      to.end('bye');
      const counted = await tunnel.joined;
      expect(round % 2 === 0 ? counted.forward : counted.backward).toBeGreaterThan(bytes.length);
      await gone(tunnel);
    }
  });

  it.each(['opener', 'acceptor', 'both at once'])('goes on until both ends ended, the %s first', async (first) => {
    const tunnel = await opened();
    const { opener, acceptor } = tunnel;
    const bytes = pattern(1_000_000);
    const reading = Promise.all([collect(opener), collect(acceptor)]);
    if (first === 'acceptor') acceptor.end();
    else opener.end();
    if (first !== 'both at once') await delay(20);
    (first === 'acceptor' ? opener : acceptor).end(bytes);
    const [up, down] = await reading;
    expect((first === 'acceptor' ? down : up).equals(bytes)).toBe(true);
    await gone(tunnel);
    expect(opener.state).toEqual({ phase: 'closed', cause: 'complete' });
    expect(acceptor.state).toEqual({ phase: 'closed', cause: 'complete' });
  });

  it('passes a refusal through', async () => {
    const relayed = await relay();
    const opener = new TunnelConnection(relayed.openerStream, 'opener');
    const acceptor = new TunnelConnection(relayed.acceptorStream, 'acceptor');
    acceptor.once('open', () => acceptor.refuse(new FairleadError('WRONG_CLUSTER', 'not mine')));
    await expect(opener.open(OPEN, never)).rejects.toMatchObject({ code: 'WRONG_CLUSTER', message: 'not mine' });
    await gone(relayed);
  });

  it.each(['opener', 'acceptor'] as const)('passes a reset by the %s through, with its code', async (who) => {
    const tunnel = await opened();
    const [from, to] = who === 'opener' ? [tunnel.opener, tunnel.acceptor] : [tunnel.acceptor, tunnel.opener];
    to.resume();
    const seen = once(to, 'error');
    from.destroy(new FairleadError('DEADLINE_EXCEEDED', 'enough'));
    expect((await seen)[0]).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await gone(tunnel);
  });
});

describe('a stream that breaks off', () => {
  it('in the middle of a message takes the other with it, and the far end never sees a clean end', async () => {
    const relayed = await relay();
    const script = new ScriptStream(relayed.openerStream);
    const acceptor = new TunnelConnection(relayed.acceptorStream, 'acceptor');
    acceptor.once('open', () => acceptor.accept());
    acceptor.resume();
    script.resume();
    script.write(encodeControl({ case: 'open', value: OPEN }));
    await once(acceptor, 'open');
    const seen = once(acceptor, 'error');
    script.write(Buffer.concat([encodeDataHeader(1_000), Buffer.alloc(10)]));
    await delay(20);
    script.close(HTTP2_CODE.cancel);
    expect((await seen)[0]).toMatchObject({ code: 'TUNNEL_RESET' });
    await gone(relayed);
  });

  it('after it ended its direction still takes along a peer that never ends', async () => {
    const relayed = await relay();
    const opener = new ScriptStream(relayed.openerStream);
    const acceptor = new ScriptStream(relayed.acceptorStream);
    opener.resume();
    acceptor.resume();
    opener.end(encodeControl({ case: 'open', value: OPEN }));
    await once(acceptor, 'end');
    const chatter = setInterval(() => acceptor.writable && acceptor.write('x'), 20);
    opener.close(HTTP2_CODE.cancel);
    await eventually(() => expect(relayed.acceptorStream.closed).toBe(true));
    clearInterval(chatter);
    await relayed.joined;
  });

  it('with its whole connection takes the other side’s streams along', async () => {
    await using other = await sessionPair();
    const [towardsOpener, towardsAgent] = [await other.stream(), await right.stream()];
    const joined = splice(towardsOpener.server, towardsAgent.server);
    const acceptor = new TunnelConnection(towardsAgent.client, 'acceptor');
    acceptor.resume();
    const closed = new Promise((resolve) => acceptor.once('close', resolve));
    other.cut();
    await closed;
    await joined;
    expect(acceptor.state).toEqual({ phase: 'closed', cause: 'lost' });
  });
});

describe('a slow reader behind a relay', () => {
  it('holds its writer back: no more than the windows of two hops are on the way', async () => {
    const { opener, acceptor } = await opened();
    let written = 0;
    const piece = Buffer.alloc(64 * 1024);
    const write = (): void => {
      while (written < 64 * 1024 * 1024 && opener.write(piece)) written += piece.length;
    };
    opener.on('drain', write);
    write();
    await delay(500);
    expect(written).toBeLessThan(2 * 4 * 1024 * 1024);
    acceptor.destroy();
    opener.destroy();
  });
});
