import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { CLOSE_CODES } from '@fairlead/kube-http';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
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
/** At the API server, the newest first. */
let connections: Duplex[];

beforeAll(async () => {
  pair = await startReplicaPair();
  await pair.installation.startAgent({ replicas: [pair.a], apiPort: pair.api.port });
  await untilAnswered(pair.installation, pair.b);
  pair.api.handleUpgrade = (_request, connection) => {
    connections.unshift(connection);
    connection.on('error', () => undefined).resume();
    connection.write(headOf(SWITCHED));
    connection.write(HELLO);
  };
});
afterAll(() => pair?.[Symbol.asyncDispose]());
beforeEach(() => void (connections = []));

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
  return { socket, closed, body };
}

/** What the last frame says: the only one behind `before`. */
function closingFrame(body: Buffer, before = HELLO): { readonly code: number; readonly reason: string } {
  expect(body.subarray(0, before.length)).toEqual(before);
  const frame = body.subarray(before.length);
  expect([frame[0], frame[1]]).toEqual([0x88, frame.length - 2]);
  return { code: frame.readUInt16BE(2), reason: frame.subarray(4).toString() };
}

const both = (): [string, Replica][] => [
  ['own', pair.a],
  ['relay', pair.b],
];

it('says why it ends when its access does', async () => {
  for (const [, replica] of both()) {
    const token = await pair.installation.addToken({ user: 'alice', groups: [] });
    const heard = await eventually(() => begun(replica, token));
    await pair.installation.removeToken(token);
    await heard.closed;
    expect(closingFrame(heard.body())).toEqual({ code: CLOSE_CODES.policyViolation, reason: expect.any(String) });
    expect(closingFrame(heard.body()).reason).not.toBe('');
    await eventually(() => expect(connections[0]?.destroyed).toBe(true));
  }
});

it('ends what is under way first, and breaks off where that has no end', async () => {
  const rest = Buffer.from('the rest');
  const half = Buffer.concat([Buffer.of(0x82, rest.length + 1, 1), rest.subarray(0, 3)]);
  const token = await pair.installation.addToken({ user: 'alice', groups: [] });
  const [one, two] = [await eventually(() => begun(pair.a, token)), await begun(pair.a, token)];
  const [ofTwo, ofOne] = connections;
  for (const connection of [ofOne, ofTwo]) connection?.write(half);
  await eventually(() =>
    expect([one.body().length, two.body().length]).toEqual(Array(2).fill(HELLO.length + half.length)),
  );
  ofOne?.write(rest.subarray(3));
  await pair.installation.removeToken(token);
  await Promise.all([one.closed, two.closed]);
  const whole = Buffer.concat([HELLO, half, rest.subarray(3)]);
  expect(closingFrame(one.body(), whole).code).toBe(CLOSE_CODES.policyViolation);
  expect(two.body()).toEqual(Buffer.concat([HELLO, half]));
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
