import { once } from 'node:events';
import { connect as netConnect, type AddressInfo } from 'node:net';
import { connect, createServer, type ConnectionOptions, type Server, type TLSSocket } from 'node:tls';
import { refusedAddressOf } from '../audit/refused-handshakes.js';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { HeldOffenders } from './hold-offenders.js';

const ANSWER = 'HTTP/1.1 403 Forbidden\r\n\r\n';
/** As many as TLS refuses by itself, and more than come back meanwhile. */
const MANY = 20;
const MOST_HELD = 5;
const UNAUTHENTICATED = { total: 100, perNetwork: 2 * MOST_HELD + 1 };
const BY_TLS = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';

let ours: TestAuthority;
let foreign: TestAuthority;
let server: Server;
let port: number;
/** Why each that was held was. */
let causes: string[];
let addresses: string[];
let letIn: TLSSocket[];
const ends: { destroy(): void }[] = [];

beforeAll(async () => {
  [ours, foreign] = [await testAuthority(), await testAuthority()];
});

beforeEach(async () => {
  const { privateKeyPem: key, chainPem: cert } = await ours.serving(['127.0.0.1']);
  const context = { key, cert, ca: [...ours.roots], minVersion: 'TLSv1.3' as const };
  server = createServer({ ...context, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] });
  const offenders = new HeldOffenders(server, {
    protocol: 'http/1.1',
    timeoutMs: 10_000,
    answer: ANSWER,
    unauthenticated: UNAUTHENTICATED,
  });
  offenders.setSecureContext(context);
  [causes, addresses, letIn] = [[], [], []];
  offenders.onRefused((cause, address) => {
    causes.push(cause);
    addresses.push(address);
  });
  server.on('tlsClientError', (_error, socket) => offenders.note(refusedAddressOf(socket)));
  server.on('connection', (socket) => ends.push(socket));
  server.on('secureConnection', (socket) => {
    letIn.push(socket.on('error', () => undefined));
    socket.write('welcome');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
  server.close();
});

interface Peer {
  readonly socket: TLSSocket;
  /** All that it was told. */
  told: string;
  /** Why TLS ended it. */
  code: string | undefined;
  /** To go on with. */
  session: Buffer | undefined;
}

function dial(options: ConnectionOptions = {}): Peer {
  const socket = connect({ port, host: '127.0.0.1', ca: [...ours.roots], ALPNProtocols: ['http/1.1'], ...options });
  const peer: Peer = { socket, told: '', code: undefined, session: undefined };
  socket.on('session', (session: Buffer) => (peer.session = session));
  ends.push(socket);
  socket.on('data', (bytes: Buffer) => (peer.told += bytes.toString()));
  socket.on('error', ({ code }: NodeJS.ErrnoException) => (peer.code ??= code));
  return peer;
}

async function certified(authority: TestAuthority): Promise<ConnectionOptions> {
  const { privateKeyPem: key, chainPem: cert } = await authority.service('somebody');
  return { key, cert };
}

const isClosed = ({ socket }: Peer): boolean => socket.closed;

/** Dials until somebody is held: TLS refuses the first ones by itself, and one a second later on. */
async function held(options: ConnectionOptions = {}): Promise<Peer> {
  for (let n = 0; n < MANY; n += 1) {
    const before = causes.length;
    const peer = dial(options);
    await eventually(() => expect(isClosed(peer) || causes.length > before).toBe(true));
    if (causes.length > before) return peer;
  }
  throw new Error('nobody was held');
}

async function offend(): Promise<Peer> {
  const peer = await held();
  await eventually(() => expect(peer.told).toBe(ANSWER));
  return peer;
}

it('the first that show no certificate hear it from TLS at once; who comes again and again is told in words, and kept for some seconds', async () => {
  const first = dial();
  await eventually(() => expect(isClosed(first)).toBe(true));
  expect(first).toMatchObject({ code: BY_TLS, told: '' });
  expect(causes).toEqual([]);
  const startedMs = performance.now();
  const last = await offend();
  expect(causes).toEqual(['ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE']);
  await eventually(() => expect(isClosed(last)).toBe(true));
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(3_000);
  expect(letIn).toEqual([]);
});

it('who shows a good certificate is let in at once beside those that are held', async () => {
  const last = await offend();
  const good = dial(await certified(ours));
  await eventually(() => expect(good.told).toBe('welcome'));
  expect(letIn).toHaveLength(1);
  expect(letIn[0]?.authorized).toBe(true);
  expect(isClosed(last)).toBe(false);
  good.socket.write('a word');
  const [said] = (await once(letIn[0] as TLSSocket, 'data')) as [Buffer];
  expect(said.toString()).toBe('a word');
});

it.each([
  ['a certificate of somebody else', async () => certified(foreign), 'SELF_SIGNED_CERT_IN_CHAIN'],
  [
    'a good certificate and another protocol',
    async () => ({ ...(await certified(ours)), ALPNProtocols: ['h2'] }),
    'ERR_SSL_NO_APPLICATION_PROTOCOL',
  ],
  ['no certificate and another protocol', async () => ({ ALPNProtocols: ['h2'] }), 'ERR_SSL_NO_APPLICATION_PROTOCOL'],
])('who comes with %s is held too', async (_what, options, cause) => {
  await offend();
  const peer = await held(await options());
  expect(causes.at(-1)).toBe(cause);
  // Who comes later has been told, so this one has been as well. HTTP/1.1 is for those who speak it.
  await offend();
  expect(peer.told).toBe(peer.socket.alpnProtocol === 'h2' ? '' : ANSWER);
  expect(isClosed(peer)).toBe(false);
  expect(letIn).toEqual([]);
});

it('who goes as soon as its handshake is over is known by its address all the same', async () => {
  await offend();
  const before = causes.length;
  for (let n = 0; n < MANY; n += 1) {
    const plain = netConnect(port, '127.0.0.1');
    const peer = dial({ socket: plain });
    // What ends the handshake is on its way then, and the server has not read it.
    peer.socket.once('secureConnect', () => setImmediate(() => plain.resetAndDestroy()));
    await eventually(() => expect(isClosed(peer)).toBe(true));
  }
  await eventually(() => expect(causes.length).toBeGreaterThanOrEqual(before + MANY / 2));
  expect([...new Set(addresses)]).toEqual(['127.0.0.1']);
});

it('who goes on with a session that was held is let in no more than before', async () => {
  const { session } = await offend();
  const again = await held({ session });
  await eventually(() => expect(again.told).toBe(ANSWER));
  expect(letIn).toEqual([]);
  expect(again.socket.isSessionReused()).toBe(false);
});

it('whoever comes beyond those that are held of a network is closed at once', async () => {
  await offend();
  const crowd = Array.from({ length: MANY }, () => dial());
  const isTurnedAway = (peer: Peer): boolean => isClosed(peer) && peer.told === '' && peer.code !== BY_TLS;
  await eventually(() => expect(crowd.every((peer) => isClosed(peer) || peer.told === ANSWER)).toBe(true));
  expect(crowd.filter(isTurnedAway).length).toBeGreaterThan(MOST_HELD);
  // They are on record as those that are held.
  expect(causes.length).toBeGreaterThan(2 * MOST_HELD);
});
