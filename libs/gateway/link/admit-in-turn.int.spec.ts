import { once } from 'node:events';
import { Server as NetServer, Socket, connect as netConnect, type AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { ReturningOffenders, admitInTurn, type AdmitOptions } from '@fairlead/limits';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let authority: TestAuthority;
let server: Server;
const listening: NetServer[] = [];
const ends: { destroy(): void }[] = [];
/** Where it is about the turns: on a busy machine somebody may well wait for longer than anybody does. */
const PATIENT_MS = 60_000;

beforeAll(async () => {
  authority = await testAuthority();
});
beforeEach(async () => {
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  server = createServer({ key: privateKeyPem, cert: chainPem, minVersion: 'TLSv1.3' });
  server.on('secureConnection', (socket: TLSSocket) => ends.push(socket.on('error', () => undefined)));
  server.on('tlsClientError', () => undefined);
});
afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
  for (const each of listening.splice(0)) each.close();
});

async function listen(options?: AdmitOptions, where: NetServer = server): Promise<number> {
  admitInTurn(where, options);
  where.listen(0, '127.0.0.1');
  listening.push(where);
  await once(where, 'listening');
  return (where.address() as AddressInfo).port;
}

function dial(port: number): TLSSocket {
  const socket = connect({ port, host: '127.0.0.1', ca: [...authority.roots] });
  ends.push(socket.on('error', () => undefined));
  return socket;
}

/** A connection that is not there; it only has an address. */
function from(remoteAddress: string): Socket {
  return Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
}

interface Begun {
  readonly socket: Socket;
  readonly atMs: number;
}

it('a crowd at once all gets through, behind peers that never begin their handshake', async () => {
  const port = await listen({ maxWaitMs: PATIENT_MS });
  for (let i = 0; i < 200; i += 1) ends.push(netConnect(port, '127.0.0.1').on('error', () => undefined));
  const crowd = Array.from({ length: 200 }, () => dial(port));
  await Promise.all(crowd.map((socket) => once(socket, 'secureConnect')));
  expect(crowd.every(({ authorized }) => authorized)).toBe(true);
});

it('who comes from another network has not to wait for a crowd, and one that resets its connection meanwhile ends nothing', async () => {
  const begun: string[] = [];
  const waiting = new NetServer();
  waiting.on('connection', ({ remoteAddress = '' }: Socket) => void begun.push(remoteAddress));
  admitInTurn(waiting);
  const crowd = Array.from({ length: 40 }, () => from('192.0.2.1'));
  for (const socket of crowd) waiting.emit('connection', socket);
  waiting.emit('connection', from('192.0.2.2'));
  crowd[20]?.destroy(new Error('read ECONNRESET'));
  await eventually(() => expect(begun).toHaveLength(40));
  expect(begun.indexOf('192.0.2.2')).toBe(1);
});

it('of each network the newest and the oldest begin by turns, so that nobody is behind all of a crowd', async () => {
  const begun: Socket[] = [];
  const waiting = new NetServer();
  waiting.on('connection', (socket: Socket) => void begun.push(socket));
  admitInTurn(waiting, { maxWaitMs: PATIENT_MS });
  const [one, other] = ['192.0.2.1', '192.0.2.2'].map((address) => Array.from({ length: 40 }, () => from(address)));
  for (const socket of [...(one ?? []), ...(other ?? [])]) waiting.emit('connection', socket);
  await eventually(() => expect(begun).toHaveLength(80));
  for (const crowd of [one, other]) {
    const order = begun.flatMap((socket) => (crowd?.includes(socket) ? [crowd.indexOf(socket)] : []));
    expect(order.slice(0, 4)).toEqual([39, 0, 38, 1]);
  }
});

it('a crowd that waits in the kernel is taken in before it gets its turns, so that it holds up no other network', async () => {
  const begun: string[] = [];
  const waiting = new NetServer();
  waiting.on('connection', (socket: Socket) => {
    begun.push(socket.remoteAddress ?? '');
    ends.push(socket.on('error', () => undefined));
  });
  const port = await listen({ maxWaitMs: PATIENT_MS }, waiting);
  const come = (localAddress: string): void => {
    ends.push(netConnect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined));
  };
  // The kernel completes these while this process does not look.
  const crowd = 100;
  for (let n = 0; n < crowd; n += 1) come('127.0.0.1');
  come('127.0.0.2');
  await eventually(() => expect(begun).toHaveLength(crowd + 1));
  expect(begun.indexOf('127.0.0.2')).toBeLessThan(crowd * 0.75);
});

it('who has ended its direction before its turn came is closed unheard, by a server that lets ends stay half open too', async () => {
  const begun: Socket[] = [];
  const waiting = new NetServer({ allowHalfOpen: true });
  waiting.on('connection', (socket: Socket) => void begun.push(socket));
  const port = await listen({ maxWaitMs: PATIENT_MS }, waiting);
  // One that ends at once, and is taken in with those behind it.
  const probe = netConnect({ port, host: '127.0.0.1' })
    .end()
    .on('error', () => undefined);
  ends.push(probe);
  for (let n = 0; n < 10; n += 1) ends.push(netConnect({ port, host: '127.0.0.1' }).on('error', () => undefined));
  await eventually(() => expect(begun).toHaveLength(10));
  await eventually(() => expect(probe.readableEnded || probe.destroyed).toBe(true));
  expect(begun).toHaveLength(10);
});

it('who waited longer than anybody does is dropped before any work is done for it', async () => {
  let handshakes = 0;
  server.on('secureConnection', () => (handshakes += 1));
  const port = await listen({ maxWaitMs: -1 });
  const late = dial(port);
  await new Promise((resolve) => late.once('close', resolve));
  expect(handshakes).toBe(0);
});

describe('after connections were ended for what they did', () => {
  /** Begins no handshake: it only tells whose turn it was, and when. */
  function listening(options: AdmitOptions): { readonly server: NetServer; readonly begun: Begun[] } {
    const begun: Begun[] = [];
    const waiting = new NetServer();
    waiting.on('connection', (socket: Socket) => void begun.push({ socket, atMs: performance.now() }));
    admitInTurn(waiting, options);
    return { server: waiting, begun };
  }

  const OFFENCES = 20;
  const crowdFrom = (address: string, count: number): Socket[] => Array.from({ length: count }, () => from(address));

  it('as many of their network begin one after the other with a pause, and the rest of it and other networks do not wait', async () => {
    const offenders = new ReturningOffenders();
    for (let n = 0; n < OFFENCES; n += 1) offenders.note('192.0.2.1');
    const { server: flooded, begun } = listening({ offenders });
    const back = crowdFrom('192.0.2.1', OFFENCES);
    const others = [...crowdFrom('192.0.2.1', 50), ...crowdFrom('192.0.2.2', 50)];
    for (const socket of [...back, ...others]) flooded.emit('connection', socket);
    await eventually(() => expect(begun).toHaveLength(back.length + others.length), { timeoutMs: 20_000 });
    const slow = begun.filter(({ socket }) => back.includes(socket));
    expect((slow.at(-1)?.atMs ?? 0) - (slow[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(19 * (OFFENCES - 1));
    // All but a few of those that come back are behind all others.
    expect(begun.slice(-OFFENCES / 2).every(({ socket }) => back.includes(socket))).toBe(true);
    // What was expected has come: the next ones are like any.
    const next = crowdFrom('192.0.2.1', 1);
    flooded.emit('connection', next[0]);
    await eventually(() => expect(begun.at(-1)?.socket).toBe(next[0]), { timeoutMs: 1_000, intervalMs: 1 });
  });

  it('nobody waits for that longer than two seconds, however many they are', async () => {
    const offenders = new ReturningOffenders();
    const many = 1_000;
    for (let n = 0; n < many; n += 1) offenders.note('192.0.2.1');
    // With a pause after each the last one's turn were after twenty.
    const { server: flooded, begun } = listening({ offenders, maxWaitMs: 15_000 });
    for (const socket of crowdFrom('192.0.2.1', many)) flooded.emit('connection', socket);
    await eventually(() => expect(begun).toHaveLength(many), { timeoutMs: 20_000 });
  });
});
