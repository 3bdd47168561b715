import { once } from 'node:events';
import { connect as connectTcp, type AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { eventually } from '@fairlead/testing';
import { Http2Server } from './server.js';
import { Http2Session } from './session.js';
import type { StreamReceiver } from './stream.js';
import { REQUEST, RawPeer, data, headers } from './testing/raw-peer.js';
import { Recorder } from './testing/recorder.js';
import { OPTIONS, againstClient, againstServer, ourPair, watched } from './testing/sessions.js';
import { loopbackIdentity, tlsPair } from './testing/tls-pair.js';
import { CODE, FLAG, FRAME, SETTING } from './wire/constants.js';
import { frame, pingFrame, rstStreamFrame, settingsFrame, windowUpdateFrame } from './wire/frames.js';

const KIB = 1024;
const NOTHING: StreamReceiver = {
  onData: () => undefined,
  onEnd: () => undefined,
  onDrain: () => undefined,
  onClose: () => undefined,
};
const ANSWER = [[':status', '200']] as const;

describe('receivers that act from within', () => {
  it('hand a stream on at any piece: the next one gets the rest, in order', async () => {
    await using ours = await againstClient();
    ours.peer.send(
      headers(1),
      data(1, Buffer.alloc(16_384, 'a')),
      data(1, Buffer.alloc(16_384, 'b')),
      data(1, 'c', true),
    );
    const stream = await eventually(() => {
      if (!ours.arrived[0]?.ended) throw new Error('not yet');
      return ours.arrived[0];
    });
    const seen: string[] = [];
    let second: Recorder | null = null;
    stream.attach({
      ...NOTHING,
      onData: (chunk) => {
        seen.push(String(chunk).slice(0, 1));
        second = new Recorder(stream);
      },
      onEnd: () => seen.push('end'),
    });
    expect(seen).toEqual(['a']);
    expect((second as Recorder | null)?.told).toEqual(['16384 bytes', 'c', 'end']);
  });

  it('cancel, end or destroy in every callback, and are told the end once', async () => {
    const acts = ['cancel', 'end', 'destroy'] as const;
    const places = ['onData', 'onEnd', 'onClose', 'onDrain'] as const;
    for (const act of acts) {
      for (const place of places) {
        await using ours = await againstClient();
        let closes = 0;
        ours.session.on('stream', (stream) => {
          const receiver = { ...NOTHING, onClose: () => void (closes += 1) };
          const before = receiver[place] as () => void;
          receiver[place] = () => {
            before();
            if (act === 'cancel') stream.cancel();
            else if (act === 'end') stream.end();
            else ours.session.destroy();
          };
          stream.attach(receiver);
          stream.respond(ANSWER);
          stream.write(Buffer.alloc(200 * KIB));
        });
        ours.peer.send(windowUpdateFrame(0, 1 << 20), settingsFrame([[SETTING.initialWindowSize, 1 << 20]]));
        ours.peer.send(headers(1), data(1, 'x'), data(1, 'y', true), data(1, 'z'), rstStreamFrame(1, CODE.cancel));
        await eventually(() => expect(closes).toBe(1), { intervalMs: 2 });
        expect(ours.session.streams.size).toBe(0);
        ours.session.destroy();
        expect(closes).toBe(1);
      }
    }
  });

  it('are told nothing after the session was destroyed in the middle of a read', async () => {
    await using ours = await againstServer();
    const events: string[] = [];
    ours.session.on('goaway', () => events.push('goaway'));
    ours.session.on('stream', () => events.push('stream'));
    const stream = ours.session.request(REQUEST);
    stream.attach({ ...NOTHING, onResponse: () => ours.session.destroy(), onData: () => events.push('data') });
    await ours.peer.next(FRAME.headers);
    const goaway = frame(FRAME.goaway, 0, 0, Buffer.alloc(8));
    ours.peer.send(headers(1, ANSWER), data(1, 'x'), goaway, pingFrame(Buffer.alloc(8), false));
    await once(ours.session, 'close');
    expect(events).toEqual([]);
  });

  it('may begin a stream where another one is over: its HEADERS come before its DATA', async () => {
    await using ours = await againstServer();
    const first = ours.session.request(REQUEST);
    first.attach({
      ...NOTHING,
      onClose: () => {
        const second = ours.session.request(REQUEST);
        second.attach(NOTHING);
        second.write(Buffer.from('second'));
      },
    });
    await ours.peer.next(FRAME.headers, 1);
    ours.peer.send(headers(1, ANSWER, true));
    await eventually(() => expect(first.ended).toBe(true));
    first.write(Buffer.from('first'));
    first.end();
    await ours.peer.next(FRAME.data, 3);
    const order = ours.peer.frames.filter(({ type }) => type === FRAME.headers || type === FRAME.data);
    expect(order.map(({ type, streamId }) => [type, streamId])).toEqual([
      [FRAME.headers, 1],
      [FRAME.data, 1],
      [FRAME.headers, 3],
      [FRAME.data, 3],
    ]);
  });

  it('may destroy the session where a stream is over: what was written goes out before', async () => {
    await using ours = await againstServer();
    const stream = ours.session.request(REQUEST);
    stream.attach({ ...NOTHING, onClose: () => ours.session.destroy(null, CODE.noError) });
    await ours.peer.next(FRAME.headers, 1);
    ours.peer.send(headers(1, ANSWER, true));
    await eventually(() => expect(stream.ended).toBe(true));
    stream.write(Buffer.from('last'));
    stream.end();
    await eventually(() => expect(ours.peer.gone).toBe(true));
    expect(String((await ours.peer.next(FRAME.data)).payload)).toBe('last');
    expect(ours.peer.frames.at(-1)?.type).toBe(FRAME.goaway);
  });
});

describe('a stream nobody was attached to', () => {
  it('does not seem complete when it broke off before anybody came', async () => {
    await using ours = await againstClient();
    ours.peer.send(
      headers(1),
      data(1, 'lost', true),
      rstStreamFrame(1, CODE.cancel),
      pingFrame(Buffer.alloc(8), false),
    );
    await ours.peer.next(FRAME.ping);
    const told = new Recorder(ours.arrived[0]!);
    expect(told.told).toEqual([`close ${CODE.cancel}`]);
    expect(ours.arrived[0]?.ended).toBe(false);
  });

  it('keeps an answer that was complete, whatever became of the request', async () => {
    await using ours = await againstServer();
    const stream = ours.session.request(REQUEST);
    await ours.peer.next(FRAME.headers);
    ours.peer.send(headers(1, ANSWER), data(1, 'whole', true), rstStreamFrame(1, CODE.noError));
    await eventually(() => expect(stream.closed).toBe(true));
    expect(new Recorder(stream).told).toEqual(['whole', 'end', 'close 0']);
  });
});

it('headers that are none leave no stream behind, and harm no other', async () => {
  await using ours = await againstServer();
  expect(() => ours.session.request([...REQUEST, ['x', '\u20ac']])).toThrow(TypeError);
  expect(ours.session.streams.size).toBe(0);
  const stream = ours.session.request(REQUEST);
  expect(() => stream.end([['x', '\u20ac']])).toThrow(TypeError);
  expect(stream.writable).toBe(true);
  stream.end([['x', 'y']]);
  await eventually(() => expect(ours.peer.of(FRAME.headers, stream.id)).toHaveLength(2));
});

it('a few bytes overtake four bulk streams', async () => {
  await using ours = await againstClient({}, [
    [SETTING.initialWindowSize, 2 ** 30],
    [SETTING.maxFrameSize, 128 * KIB],
  ]);
  ours.peer.send(windowUpdateFrame(0, 2 ** 30), ...[1, 3, 5, 7, 9].map((id) => headers(id)));
  await eventually(() => expect(ours.arrived).toHaveLength(5));
  ours.peer.socket.pause();
  const [small, ...bulk] = ours.arrived;
  for (const stream of bulk) {
    stream.respond(ANSWER);
    stream.write(Buffer.alloc(8 * KIB * KIB));
  }
  small?.respond(ANSWER);
  // The kernel takes no more: all that comes now waits in our own queue.
  await eventually(async () => {
    const queued = ours.session.queuedBytes;
    await new Promise((resolve) => setImmediate(resolve));
    expect(queued).toBeGreaterThan(0);
    expect(ours.session.queuedBytes).toBe(queued);
  });
  const writtenBefore = 32 * KIB * KIB - bulk.reduce((sum, { pendingBytes }) => sum + pendingBytes, 0);
  small?.write(Buffer.from('small'));
  ours.peer.socket.resume();
  await ours.peer.next(FRAME.data, 1);
  const at = ours.peer.frames.findIndex(({ type, streamId }) => type === FRAME.data && streamId === 1);
  const before = ours.peer.frames.slice(0, at).filter(({ type }) => type === FRAME.data);
  const overtaken = before.reduce((sum, { payload }) => sum + payload.length, 0) - writtenBefore;
  // What was given to the socket cannot be overtaken; beyond that, at most one turn.
  expect(overtaken).toBeLessThanOrEqual(65 * KIB);
});

describe('a peer that does not read', () => {
  it('is let go when its answers pile up', async () => {
    await using ours = await againstClient({
      maxConcurrentStreams: 10,
      abuse: { ...OPTIONS.abuse, pings: { burst: 1e9, perSecond: 0 } },
    });
    ours.peer.send(windowUpdateFrame(0, 2 ** 30), settingsFrame([[SETTING.initialWindowSize, 2 ** 30]]), headers(1));
    await eventually(() => expect(ours.arrived).toHaveLength(1));
    ours.peer.socket.pause();
    ours.arrived[0]?.respond(ANSWER);
    ours.arrived[0]?.write(Buffer.alloc(64 * KIB * KIB));
    const pings = Buffer.concat(Array.from({ length: 100 }, () => pingFrame(Buffer.alloc(8), false)));
    const sending = setInterval(() => ours.peer.send(pings), 1);
    await eventually(() => expect(ours.causes).toHaveLength(1)).finally(() => clearInterval(sending));
    expect(ours.causes[0]).toMatchObject({ violation: 'unread-answers' });
    await eventually(() => expect(ours.session.socket.destroyed).toBe(true));
  });

  it('does not end a session that cancels all its own streams at once', async () => {
    await using ours = await againstServer({ maxConcurrentStreams: 2_000 }, [[SETTING.initialWindowSize, 2 ** 30]]);
    ours.peer.send(windowUpdateFrame(0, 2 ** 30));
    const streams = Array.from({ length: 2_000 }, () => ours.session.request(REQUEST));
    await eventually(() => expect(ours.peer.of(FRAME.headers)).toHaveLength(2_000));
    await eventually(() => expect(ours.session.connectionSendWindow).toBeGreaterThan(2 ** 30));
    ours.peer.socket.pause();
    streams[0]?.write(Buffer.alloc(64 * KIB * KIB));
    await eventually(() =>
      expect(ours.session.queuedBytes - (streams[0]?.pendingBytes ?? 0)).toBeGreaterThanOrEqual(256 * KIB),
    );
    for (const stream of streams.slice(1)) stream.cancel();
    expect(ours.session.destroyed).toBe(false);
    streams[0]?.cancel();
    ours.peer.socket.resume();
    await eventually(() => expect(ours.peer.of(FRAME.rstStream)).toHaveLength(2_000));
  });
});

describe('sessions that die', () => {
  it('tell every stream and every ping, in whatever phase they are', async () => {
    await using pair = await ourPair();
    const { client, server } = pair;
    const fresh = client.session.request(REQUEST);
    const [answered, half, full] = [0, 1, 2].map(() => client.session.request(REQUEST)) as [never, never, never];
    await eventually(() => expect(server.arrived).toHaveLength(4));
    const told = [fresh, answered, half, full].map((stream) => new Recorder(stream));
    server.arrived[1]?.respond(ANSWER);
    server.arrived[2]?.respond(ANSWER, { endStream: true });
    client.session.streams.get(7)?.write(Buffer.alloc(300 * KIB));
    await told[2]!.ended;
    const closed = once(client.session, 'close');
    pair.server.session.socket.destroy();
    const pinged = client.session.ping();
    await closed;
    expect(await pinged).toBeNull();
    expect(await client.session.ping()).toBeNull();
    expect(await Promise.all(told.map((each) => each.closed))).toEqual([8, 8, 8, 8]);
    expect([client.session.streams.size, client.session.queuedBytes]).toEqual([0, 0]);
    expect(() => client.session.request(REQUEST)).toThrow('closed');
  });

  it('in the preface, in a frame header, in a header block, in DATA', async () => {
    const whole = Buffer.concat([
      settingsFrame([]),
      headers(1),
      frame(FRAME.headers, 0, 3, Buffer.from([0x82])),
      data(1, 'x'),
    ]);
    for (const bytes of [1, 9, 12, 30, whole.length - 1]) {
      await using pair = await tlsPair();
      const ours = watched(new Http2Session(pair.server, 'server', OPTIONS));
      const closed = once(ours.session, 'close');
      pair.client.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
      pair.client.end(whole.subarray(0, bytes));
      await closed;
      expect(ours.session.streams.size).toBe(0);
      expect(ours.arrived.every(({ closed: gone }) => gone)).toBe(true);
    }
  });

  it('on a connection that was gone before', async () => {
    await using pair = await tlsPair();
    pair.client.destroy();
    await once(pair.client, 'close');
    const session = new Http2Session(pair.client, 'client', OPTIONS);
    await once(session, 'close');
    expect(session.destroyed).toBe(true);
  });

  it('on a connection that is about to say that it is gone, once', async () => {
    await using pair = await tlsPair();
    let closes = 0;
    pair.client.once('error', () => {
      new Http2Session(pair.client, 'client', OPTIONS).on('close', () => (closes += 1));
    });
    const closed = new Promise((resolve) => pair.client.once('close', resolve));
    pair.client.destroy(new Error('reset'));
    await closed;
    await new Promise((resolve) => setImmediate(resolve));
    expect(closes).toBe(1);
  });

  it('when the peer ends the connection, even while it reads nothing', async () => {
    await using ours = await againstClient({}, [[SETTING.initialWindowSize, 2 ** 30]]);
    ours.peer.send(windowUpdateFrame(0, 2 ** 30), headers(1));
    await eventually(() => expect(ours.arrived).toHaveLength(1));
    ours.peer.socket.pause();
    ours.arrived[0]?.respond(ANSWER);
    ours.arrived[0]?.write(Buffer.alloc(64 * KIB * KIB));
    ours.peer.socket.end();
    await eventually(() => expect(ours.session.destroyed).toBe(true));
    expect(ours.arrived[0]?.closed).toBe(true);
  });

  it('with a code, within half a second, even if the peer reads nothing and closes nothing', async () => {
    await using ours = await againstClient({}, [[SETTING.initialWindowSize, 2 ** 30]]);
    ours.peer.send(windowUpdateFrame(0, 2 ** 30), headers(1));
    await eventually(() => expect(ours.arrived).toHaveLength(1));
    ours.peer.socket.pause();
    ours.arrived[0]?.write(Buffer.alloc(64 * KIB * KIB));
    await eventually(() => expect(ours.session.queuedBytes).toBeGreaterThan(0));
    const closed = once(ours.session, 'close');
    ours.session.destroy(new Error('enough'), CODE.internalError);
    expect((await closed)[0]).toMatchObject({ message: 'enough' });
  });
});

describe('Http2Server', () => {
  it('takes HTTP/2 only, and forgets sessions that are gone', async () => {
    const { key, cert, ca } = await loopbackIdentity();
    const sessions: Http2Session[] = [];
    const server = new Http2Server({ key, cert, session: OPTIONS }, (session) => sessions.push(session));
    server.tls.listen(0, '127.0.0.1');
    await once(server.tls, 'listening');
    const { port } = server.tls.address() as AddressInfo;
    const other = connectTls({ host: '127.0.0.1', port, ca });
    other.on('error', () => undefined);
    await once(other, 'close');
    const socket = connectTls({ host: '127.0.0.1', port, ca, ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    const peer = RawPeer.client(socket);
    await peer.next(FRAME.settings);
    expect(server.sessions).toEqual(sessions);
    const closed = server.close();
    await peer.next(FRAME.goaway);
    socket.destroy();
    await closed;
    await eventually(() => expect(server.sessions).toHaveLength(0));
  });

  it('shuts down what comes out of its handshake after close() at once', async () => {
    const { key, cert, ca } = await loopbackIdentity();
    const server = new Http2Server({ key, cert, session: OPTIONS }, () => undefined);
    server.tls.listen(0, '127.0.0.1');
    await once(server.tls, 'listening');
    const raw = connectTcp((server.tls.address() as AddressInfo).port, '127.0.0.1');
    await Promise.all([once(raw, 'connect'), once(server.tls, 'connection')]);
    const closed = server.close();
    const socket = connectTls({ socket: raw, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    const peer = RawPeer.client(socket);
    expect((await peer.next(FRAME.goaway)).payload.readUInt32BE(4)).toBe(CODE.noError);
    expect((await peer.next(FRAME.settings)).flags & FLAG.ack).toBe(0);
    socket.destroy();
    await closed;
  });
});
