import { once } from 'node:events';
import { connect as netConnect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startScriptedApi, type ScriptedApi } from './testing/scripted-api.js';

/** Of one address, for connections on which no token was accepted. */
const LIMIT = 1_024;
/** Those who never say a word stay for so long: until all have come, and others were tried beside them, on a busy machine too. */
const SILENT_MS = 30_000;

let api: ScriptedApi;
const sockets: Socket[] = [];

beforeAll(async () => {
  api = await startScriptedApi({ handshakeTimeoutMs: SILENT_MS });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await api?.[Symbol.asyncDispose]();
});

function dial(localAddress: string): TLSSocket {
  const plain = netConnect({ port: api.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  const socket = connectTls({ socket: plain, host: '127.0.0.1', ca: api.caPem }).on('error', () => undefined);
  sockets.push(plain, socket);
  return socket;
}

async function isServed(localAddress: string): Promise<boolean> {
  const socket = dial(localAddress);
  const served = await Promise.race([
    once(socket, 'secureConnect').then(
      () => true,
      () => false,
    ),
    once(socket, 'close').then(() => false),
  ]);
  socket.destroy();
  return served;
}

it('who shows no token has a limit of one address, and takes none from others or from who was let in', async () => {
  const known = dial('127.0.0.1');
  let heard = '';
  known.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
  const ask = (): boolean =>
    known.write(`GET /v1/clusters HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.script.token}\r\n\r\n`);
  ask();
  await eventually(() => expect(heard.match(/HTTP\/1\.1 200/g)).toHaveLength(1));
  const crowd: Socket[] = [];
  for (let n = 0; n < LIMIT + 10; n += 1) {
    crowd.push(
      netConnect({ port: api.port, host: '127.0.0.1', localAddress: '127.0.0.1' }).on('error', () => undefined),
    );
    if (n % 100 === 99) await once(crowd[n] as Socket, 'connect');
  }
  sockets.push(...crowd);
  for (const socket of crowd) socket.resume();
  await eventually(() => expect(crowd.filter(({ destroyed }) => destroyed)).toHaveLength(10));
  expect([await isServed('127.0.0.1'), await isServed('127.0.0.2')]).toEqual([false, true]);
  ask();
  await eventually(() => expect(heard.match(/HTTP\/1\.1 200/g)).toHaveLength(2));
  // They never say a word: the server ends them itself, and they count no more.
  const silent = (): number => crowd.filter(({ destroyed }) => !destroyed).length;
  await eventually(() => expect(silent()).toBe(0), { timeoutMs: 2 * SILENT_MS });
  expect(await isServed('127.0.0.1')).toBe(true);
});

it('who begins a handshake and never goes on, or is refused and never closes, is closed after a while', async () => {
  await using other = await startScriptedApi({ handshakeTimeoutMs: 5_000 });
  const half = netConnect({ port: other.port, host: '127.0.0.1' }).on('error', () => undefined);
  // The head of a ClientHello of 512 bytes, and none of them.
  half.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252]));
  half.resume();
  const plain = netConnect({ port: other.port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  const refused = connectTls({ socket: plain, host: '127.0.0.1', ca: other.caPem });
  refused.on('error', () => undefined).resume();
  sockets.push(half, plain, refused);
  await once(refused, 'secureConnect');
  refused.write('no request at all\r\n\r\n');
  await eventually(
    () => {
      // Said to a connection that is gone, it is answered with a reset.
      refused.write('.');
      expect([half.destroyed, refused.destroyed]).toEqual([true, true]);
    },
    { timeoutMs: 40_000 },
  );
});
