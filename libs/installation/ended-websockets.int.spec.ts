import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { CLOSE_CODES } from '@fairlead/kube-http';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { untilAnswered } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import { rawDoor } from './raw-client.js';
import type { Replica } from './replicas.js';

const ASKED = [
  'GET /clusters/demo/api/v1/namespaces/default/pods/web/exec?command=ls HTTP/1.1',
  'Host: door',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
];
const SWITCHED = [
  'HTTP/1.1 101 Switching Protocols',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
];
const headOf = (lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;
/** Of a server: `hello` on the channel of standard output. */
const HELLO = Buffer.concat([Buffer.of(0x82, 6, 1), Buffer.from('hello')]);

/** The agent's link is to the first one. */
let pair: ReplicaPair;
interface FarEnd {
  readonly connection: Duplex;
  readonly received: () => string;
}

/** At the API server, the newest first. */
let farEnds: FarEnd[];

beforeAll(async () => {
  pair = await startReplicaPair();
  await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port });
  await untilAnswered(pair.installation, pair.b);
  pair.api.handleUpgrade = (_request, connection) => {
    let received = '';
    farEnds.unshift({ connection, received: () => received });
    connection.on('error', () => undefined).on('data', (piece: Buffer) => (received += String(piece)));
    connection.write(headOf(SWITCHED));
    connection.write(HELLO);
  };
});
afterAll(() => pair?.[Symbol.asyncDispose]());
beforeEach(() => void (farEnds = []));

interface Heard {
  readonly socket: TLSSocket;
  readonly closed: Promise<unknown>;
  /** What came behind the head. */
  readonly body: () => Buffer;
}

/** A WebSocket on which the far end has said something. */
async function begun(replica: Replica, token = pair.installation.token): Promise<Heard> {
  const socket = await rawDoor(pair.installation, replica);
  const pieces: Buffer[] = [];
  socket.on('error', () => undefined).on('data', (piece: Buffer) => pieces.push(piece));
  const body = (): Buffer => {
    const all = Buffer.concat(pieces);
    return all.subarray(all.indexOf('\r\n\r\n') + 4);
  };
  socket.write(headOf([...ASKED, `Authorization: Bearer ${token}`]));
  const closed = once(socket, 'close');
  await eventually(() => expect(body()).toEqual(HELLO));
  socket.write('in time');
  await eventually(() => expect(farEnds[0]?.received()).toBe('in time'));
  return { socket, closed, body };
}

/** What the last frame says: the only one behind `before`. */
function closingFrame(body: Buffer, before = HELLO): { readonly code: number; readonly reason: string } {
  expect(body.subarray(0, before.length)).toEqual(before);
  const frame = body.subarray(before.length);
  expect([frame[0], frame[1]]).toEqual([0x88, frame.length - 2]);
  return { code: frame.readUInt16BE(2), reason: frame.subarray(4).toString() };
}

/** How often somebody was shut out at the first replica. */
async function accessEnded(): Promise<number> {
  const metric = await pair.a.registry.getSingleMetric('fairlead_gateway_access_ended_total')?.get();
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
}

it('says why it ends when its access does', async () => {
  for (const replica of [pair.a, pair.b]) {
    const token = await pair.installation.addToken({ user: 'alice', groups: [] });
    const heard = await eventually(() => begun(replica, token));
    await pair.installation.removeToken(token);
    await heard.closed;
    expect(closingFrame(heard.body())).toEqual({ code: CLOSE_CODES.policyViolation, reason: expect.any(String) });
    expect(closingFrame(heard.body()).reason).not.toBe('');
    await eventually(() => expect(farEnds[0]?.connection.destroyed).toBe(true));
  }
});

describe('in the middle of a frame', () => {
  const rest = Buffer.from('the rest');
  const half = Buffer.concat([Buffer.of(0x82, rest.length + 1, 1), rest.subarray(0, 3)]);

  /** A frame is under way when access ends; then something happens at once, in the same process. */
  async function endedWithin(then: (far: FarEnd, heard: Heard) => void): Promise<{ heard: Heard; far: FarEnd }> {
    const token = await pair.installation.addToken({ user: 'alice', groups: [] });
    const heard = await eventually(() => begun(pair.a, token));
    const [far] = farEnds;
    if (!far) throw new Error('the API server was not asked');
    far.connection.write(half);
    await eventually(() => expect(heard.body().length).toBe(HELLO.length + half.length));
    const before = await accessEnded();
    await pair.installation.removeToken(token);
    while ((await accessEnded()) === before) await setImmediate();
    then(far, heard);
    await heard.closed;
    return { heard, far };
  }

  it('that comes to its end, it says why behind that', async () => {
    // The rest has to come within 300 ms, which a busy machine may not give it.
    await eventually(
      async () => {
        const { heard } = await endedWithin(({ connection }) => void connection.write(rest.subarray(3)));
        const whole = Buffer.concat([HELLO, half, rest.subarray(3)]);
        expect(closingFrame(heard.body(), whole).code).toBe(CLOSE_CODES.policyViolation);
      },
      { timeoutMs: 60_000 },
    );
  });

  it('that does not, it breaks off, and nothing that the client sent meanwhile goes on', async () => {
    const { heard, far } = await endedWithin((_, { socket }) => void socket.write('too late'));
    expect(heard.body()).toEqual(Buffer.concat([HELLO, half]));
    await eventually(() => expect(far.connection.destroyed).toBe(true));
    expect(far.received()).toBe('in time');
  });
});

it('says so when the replica that it came to shuts down, and when only the one that holds the link does', async () => {
  const [own, relayed] = [await begun(pair.a), await begun(pair.b)];
  await pair.a.stop();
  await Promise.all([own.closed, relayed.closed]);
  expect(closingFrame(own.body())).toEqual({
    code: CLOSE_CODES.goingAway,
    reason: 'this gateway shuts down; run the command again',
  });
  expect(closingFrame(relayed.body())).toEqual({
    code: CLOSE_CODES.goingAway,
    reason: expect.stringMatching(/^the tunnel broke off: .+; run the command again$/),
  });
});
