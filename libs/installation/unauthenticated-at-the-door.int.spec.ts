import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { FLAG, FRAME, PREFACE, frame, settingsFrame, windowUpdateFrame } from '@fairlead/http2/testing';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callDoor, untilLetIn } from './kube-client.js';
import { rawDoor } from './raw-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

let installation: TestInstallation;
let replica: Replica;
/** Several times what they are given, and far less than an idle connection has. */
const MAX_MS = 30_000;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a');
  await untilLetIn(installation, replica);
});

afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
});

/**
 * Until the connection has closed. An error before it is no matter: who still sends while the gateway closes is
 * told so by a reset, and reads it or not as chance has it.
 */
async function closing(connection: Socket | ClientHttp2Session): Promise<void> {
  const signal = AbortSignal.timeout(MAX_MS);
  connection.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    connection.once('close', resolve);
    signal.addEventListener('abort', () => reject(new Error(`still open after ${MAX_MS} ms`)), { once: true });
  });
}

/** The first one of a connection, what TLS adds left out (crypto/tls; those that follow are larger). */
const GO_RECORD_BYTES = 1_186;

/** Sends this in a record of its own. */
function sendRecord(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => void socket.write(bytes, () => resolve()));
}

/** A client whose window is 0: heads reach it, and no body. */
function connectTakingNothing(): ClientHttp2Session {
  const ca = [...installation.authority.roots];
  const settings = { initialWindowSize: 0 };
  return connect(`https://127.0.0.1:${replica.gateway.door.port}`, { ca, settings }).on('error', () => undefined);
}

describe('somebody without a token', () => {
  it('is told so and loses the connection, though nothing more was to be sent', async () => {
    const socket = await rawDoor(installation, replica);
    const closed = closing(socket);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    socket.write('GET / HTTP/1.1\r\nHost: d\r\n\r\n');
    await closed;
    expect(heard).toMatch(/^HTTP\/1\.1 401 [^]*\r\nconnection: close\r\n[^]*"code":401/i);
  });

  it('does not hold a connection by a body that never ends (HTTP/1.1)', async () => {
    const socket = await rawDoor(installation, replica);
    const closed = closing(socket);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    socket.write('POST / HTTP/1.1\r\nHost: d\r\nContent-Length: 1000000\r\n\r\n');
    const drip = setInterval(() => socket.write('x'), 200);
    await eventually(() => expect(heard).toContain('"code":401'));
    await closed.finally(() => clearInterval(drip));
  });

  it('does not hold a session by a body that never ends (HTTP/2)', async () => {
    const ca = [...installation.authority.roots];
    const session = connect(`https://127.0.0.1:${replica.gateway.door.port}`, { ca });
    const closed = closing(session);
    const stream = session.request({ ':path': '/', ':method': 'POST' });
    stream.on('error', () => undefined);
    const drip = setInterval(() => {
      if (!stream.destroyed) stream.write('x');
    }, 200);
    const [headers] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
    expect(headers[':status']).toBe(401);
    stream.resume();
    await closed.finally(() => clearInterval(drip));
  });

  it('does not hold a session by taking no answer (HTTP/2)', async () => {
    const session = connectTakingNothing();
    const closed = closing(session);
    const streams = [1, 2, 3].map(() =>
      session.request({ ':path': '/clusters/demo/api' }).on('error', () => undefined),
    );
    const [headers] = (await once(streams[0] as ClientHttp2Stream, 'response')) as [{ readonly ':status'?: number }];
    expect(headers[':status']).toBe(401);
    await closed;
  });

  it('hears why, though a large body is still on its way', async () => {
    const body = 'x'.repeat(3_000_000);
    const { status, body: answer } = await callDoor(installation, replica, { token: null, method: 'POST', body });
    expect([status, answer]).toEqual([401, expect.stringContaining('fairlead login')]);
  });
});

describe('the first head of a connection', () => {
  const ask = (token: string): string =>
    `GET /clusters/demo/api HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${token}\r\n\r\n`;

  it('is all that is parsed of who is not let in by it, however much comes at once', async () => {
    let parsed = 0;
    const count = (): void => void (parsed += 1);
    subscribe('http.server.request.start', count);
    try {
      const socket = await rawDoor(installation, replica);
      const closed = closing(socket);
      let heard = '';
      socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
      const askedAtMs = performance.now();
      socket.write(ask('wrong').repeat(1_000));
      await eventually(() => expect(heard).toContain('"code":401'));
      await closed;
      // It would dial anew at once.
      expect(performance.now() - askedAtMs).toBeGreaterThan(2_500);
      expect([parsed, heard.match(/HTTP\/1\.1 \d+/g)?.length ?? 0]).toEqual([1, expect.toSatisfy((n) => n <= 1)]);
    } finally {
      unsubscribe('http.server.request.start', count);
    }
  });

  it('has no more parsed by a body without a length than a few requests', async () => {
    let parsed = 0;
    const count = (): void => void (parsed += 1);
    subscribe('http.server.request.start', count);
    try {
      const socket = await rawDoor(installation, replica);
      const closed = closing(socket.resume());
      const head = 'POST /clusters/demo/api HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n';
      socket.write(`${head}1\r\nx\r\n0\r\n\r\n${'GET / HTTP/1.1\r\nHost: d\r\n\r\n'.repeat(5_000)}`);
      await closed;
      expect(parsed).toBeLessThan(200);
    } finally {
      unsubscribe('http.server.request.start', count);
    }
  });

  it('may come in pieces, behind blank lines, and with what follows it', async () => {
    const socket = await rawDoor(installation, replica);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    const text = `\r\n\r\n${ask(installation.token)}`;
    for (const part of [text.slice(0, 3), text.slice(3, 40), text.slice(40, -3)]) {
      socket.write(part);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    socket.write(text.slice(-3) + ask(installation.token).repeat(2));
    await eventually(() => expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(3).fill('HTTP/1.1 503')));
    socket.destroy();
  });

  it('may be as large as any, in records of TLS as small as Go’s first one', async () => {
    const socket = await rawDoor(installation, replica);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    const head = Buffer.from(ask(installation.token).replace('Host', `${'X-More: 0\r\n'.repeat(5_800)}Host`));
    for (let at = 0; at < head.length; at += GO_RECORD_BYTES) {
      await sendRecord(socket, head.subarray(at, at + GO_RECORD_BYTES));
    }
    await eventually(() => expect(heard).toMatch(/^HTTP\/1\.1 503 /));
    socket.destroy();
  });

  it('does not come byte by byte', async () => {
    const socket = await rawDoor(installation, replica);
    const closed = closing(socket);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    const head = Buffer.from(`GET / HTTP/1.1\r\nHost: d\r\n${'X-More: 0\r\n'.repeat(10)}\r\n`);
    for (const byte of head) await sendRecord(socket, Buffer.from([byte]));
    await closed;
    expect(heard).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('has a size', async () => {
    const socket = await rawDoor(installation, replica);
    const closed = closing(socket);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    socket.write(`GET / HTTP/1.1\r\nHost: d\r\n${'X-More: 0\r\n'.repeat(6_600)}`);
    await closed;
    expect(heard).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('a connection of HTTP/2, before its first request', () => {
  /** `GET /` without a token. */
  const REQUEST = frame(
    FRAME.headers,
    FLAG.endHeaders | FLAG.endStream,
    1,
    Buffer.from([0x82, 0x87, 0x84, 0x41, 1, 0x64]),
  );
  const ACKNOWLEDGEMENT = frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));

  /** A client that has said hello, and the types of all frames that come. */
  async function greet(): Promise<{ socket: TLSSocket; types: () => number[]; heard: () => Buffer }> {
    const socket = await rawDoor(installation, replica, undefined, 'h2');
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.write(Buffer.concat([PREFACE, settingsFrame([])]));
    const heard = (): Buffer => Buffer.concat(pieces);
    return { socket, heard, types: () => typesOf(heard()) };
  }

  function typesOf(bytes: Buffer): number[] {
    const types: number[] = [];
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes.readUInt8(at + 3));
    return types;
  }

  it('bears a few frames, and keeps who sends more from dialling anew', async () => {
    const { socket, types, heard } = await greet();
    const closed = closing(socket);
    const floodedAtMs = performance.now();
    socket.write(Buffer.concat(Array.from({ length: 1_000 }, () => windowUpdateFrame(0, 1))));
    await eventually(() => expect(types()).toContain(FRAME.goaway));
    expect(heard().subarray(-4).readUInt32BE()).toBe(11);
    await closed;
    expect(performance.now() - floodedAtMs).toBeGreaterThan(2_500);
  });

  it('is refused where its head comes byte by byte', async () => {
    const { socket, types, heard } = await greet();
    const closed = closing(socket);
    const begun = frame(FRAME.headers, FLAG.endHeaders, 1, Buffer.alloc(16_384)).subarray(0, 200);
    for (const byte of begun) await sendRecord(socket, Buffer.from([byte]));
    await eventually(() => expect(types()).toContain(FRAME.goaway));
    expect(heard().subarray(-4).readUInt32BE()).toBe(11);
    await closed;
  });

  it('is heard by a client that waits for SETTINGS before it asks, and acknowledges them before or after', async () => {
    for (const frames of [
      [ACKNOWLEDGEMENT, REQUEST],
      [REQUEST, ACKNOWLEDGEMENT],
    ]) {
      const { socket, types } = await greet();
      await eventually(() => expect(types()).toEqual([FRAME.settings]));
      for (const each of frames) {
        socket.write(each);
        await new Promise((resolve) => void setImmediate(resolve));
      }
      await eventually(() => expect(types()).toContain(FRAME.headers));
      expect(types()).not.toContain(FRAME.rstStream);
      socket.destroy();
    }
  });

  /** What comes back of ninety requests, in two records of TLS, that are sent before anything was heard. */
  async function askAtOnce(token: string): Promise<{ socket: TLSSocket; types: () => number[] }> {
    const socket = await rawDoor(installation, replica, undefined, 'h2');
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    // Shorter than 127 (RFC 7541, section 5.1).
    const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
    // Beside three of the static table: `:path`, and `authorization`, never indexed (section 6.2.3).
    const path = Buffer.concat([Buffer.from([0x04]), text('/clusters/demo/api?'.padEnd(120, 'x'))]);
    const authorization = Buffer.concat([Buffer.from([0x1f, 0x08]), text(`Bearer ${token}`)]);
    const block = Buffer.concat([Buffer.from([0x82, 0x87, 0x41, 1, 0x64]), path, authorization]);
    const ask = (_: unknown, index: number): Buffer =>
      frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 2 * index + 1, block);
    socket.write(Buffer.concat([PREFACE, settingsFrame([]), ...Array.from({ length: 90 }, ask)]));
    return { socket, types: () => typesOf(Buffer.concat(pieces)) };
  }

  const answersIn = (types: readonly number[]): number => types.filter((type) => type === FRAME.headers).length;

  it('brings a user as many requests at once as they like', async () => {
    const { socket, types } = await askAtOnce(installation.token);
    await eventually(() => expect(answersIn(types())).toBe(90));
    socket.destroy();
  });

  it('answers one of the many requests of an unauthenticated peer', async () => {
    const { socket, types } = await askAtOnce('wrong'.padStart(90, '.'));
    await closing(socket);
    expect(answersIn(types())).toBe(1);
    expect(types()).toContain(FRAME.goaway);
  });

  it('has nothing read of it once an unauthenticated peer was refused, and stays for a while', async () => {
    const { socket, types } = await greet();
    const closed = closing(socket);
    const open = Buffer.from(REQUEST);
    open.writeUInt8(FLAG.endHeaders, 4);
    const askedAtMs = performance.now();
    socket.write(open);
    await eventually(() => expect(types()).toEqual(expect.arrayContaining([FRAME.headers, FRAME.goaway])));
    const before = types().length;
    for (let pings = 0; pings < 10; pings += 1) socket.write(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    await closed;
    // Its own probe at most, and no answer.
    expect(
      types()
        .slice(before)
        .filter((type) => type === FRAME.ping).length,
    ).toBeLessThan(2);
    expect(performance.now() - askedAtMs).toBeGreaterThan(2_500);
  });

  it('is over after ten seconds', async () => {
    const { socket } = await greet();
    const askedAtMs = performance.now();
    await closing(socket);
    expect(performance.now() - askedAtMs).toBeLessThan(MAX_MS);
  });
});

describe('somebody who was let in before on a connection', () => {
  it('keeps it when a token is refused', async () => {
    const socket = await rawDoor(installation, replica);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    for (const token of [installation.token, 'wrong', installation.token]) {
      socket.write(`GET /clusters/demo/api HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    }
    await eventually(() =>
      expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503', 'HTTP/1.1 401', 'HTTP/1.1 503']),
    );
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('keeps a session on which a refusal is never taken, and loses that answer only (HTTP/2)', async () => {
    const session = connectTakingNothing();
    const ask = (token: string): ClientHttp2Stream => {
      const stream = session.request({ ':path': '/clusters/demo/api', authorization: `Bearer ${token}` });
      return stream.on('error', () => undefined);
    };
    const statusOf = async (stream: ClientHttp2Stream): Promise<unknown> =>
      ((await once(stream, 'response')) as [{ readonly ':status'?: number }])[0][':status'];
    const [first, refused] = [ask(installation.token), ask('wrong')];
    const gone = [first, refused].map((each) => once(each, 'close', { signal: AbortSignal.timeout(MAX_MS) }));
    expect(await Promise.all([statusOf(first), statusOf(refused)])).toEqual([503, 401]);
    await Promise.all(gone);
    expect(await statusOf(ask(installation.token))).toBe(503);
    session.destroy();
  });

  it('does not hold it by a body that nobody wants', async () => {
    const socket = await rawDoor(installation, replica);
    const closed = closing(socket);
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    const authorization = `Authorization: Bearer ${installation.token}`;
    socket.write(`POST /clusters/demo/api HTTP/1.1\r\nHost: d\r\n${authorization}\r\nContent-Length: 1000000\r\n\r\n`);
    const drip = setInterval(() => socket.write('x'), 200);
    await eventually(() => expect(heard).toContain('"code":503'));
    await closed.finally(() => clearInterval(drip));
  });
});
