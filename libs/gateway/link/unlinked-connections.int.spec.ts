import { once } from 'node:events';
import { connect as netConnect, type AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { silentLogger } from '@fairlead/observability';
import { Http2Server } from '@fairlead/http2';
import { FRAME, PREFACE, frame, settingsFrame } from '@fairlead/http2/testing';
import { ReturningOffenders } from '@fairlead/limits';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { noteFailedHandshakes, reportTlsErrors } from '@fairlead/tunnel/gateway';
import { TUNNEL_SESSION_OPTIONS } from '@fairlead/tunnel/link';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundUnlinked } from './unlinked-connections.js';

let authority: TestAuthority;
let servers: Server[];
let port: number;
/** Where a handshake has time: whoever is silent there still is when the next one dials, however busy the machine. */
let patientPort: number;

beforeAll(async () => {
  authority = await testAuthority();
  servers = await Promise.all([300, 4_000].map(startServer));
  [port, patientPort] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number];
});
afterAll(() => servers?.forEach((server) => server.close()));

async function startServer(handshakeTimeout: number): Promise<Server> {
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  const server = createServer({ key: privateKeyPem, cert: chainPem, minVersion: 'TLSv1.3', handshakeTimeout });
  server.on('secureConnection', (socket: TLSSocket) => socket.on('error', () => undefined).end());
  reportTlsErrors(server, silentLogger);
  boundUnlinked(server, { counts: () => true, onLinked: () => undefined, handshaking: { total: 10, perNetwork: 3 } });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Does the server shake hands with one more? */
async function isServed(at = port): Promise<boolean> {
  const socket = connect({ port: at, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => undefined);
  const served = await new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true)).once('close', () => resolve(false));
  });
  socket.destroy();
  return served;
}

it.each<[string, () => void]>([
  ['never begins its handshake', () => void netConnect(port, '127.0.0.1').on('error', () => undefined)],
  [
    'goes away at once',
    () =>
      void netConnect(port, '127.0.0.1', function (this: { destroy(): void }) {
        this.destroy();
      }),
  ],
  [
    'speaks no TLS',
    () =>
      void netConnect(port, '127.0.0.1')
        .on('error', () => undefined)
        .end('GET / HTTP/1.1\r\n\r\n'),
  ],
  ['trusts nobody', () => void connect({ port, host: '127.0.0.1' }).on('error', () => undefined)],
])('whoever %s has its place until the handshake’s time is over, and no longer', async (_, dial) => {
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 6; n += 1) dial();
    await eventually(async () => expect(await isServed()).toBe(true));
  }
});

it('who has not shaken hands is bounded by a limit', async () => {
  const silent = Array.from({ length: 3 }, () => netConnect(patientPort, '127.0.0.1').on('error', () => undefined));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  expect(await isServed(patientPort)).toBe(false);
  for (const socket of silent) socket.destroy();
  await eventually(async () => expect(await isServed(patientPort)).toBe(true));
});

describe('of whoever comes back, it is remembered', () => {
  const LOOPBACK = '127.0.0.1';

  async function listen(tls: Server): Promise<number> {
    tls.listen(0, LOOPBACK);
    await once(tls, 'listening');
    return (tls.address() as AddressInfo).port;
  }

  it('that a peer without a certificate was ended for what it sent, and not that one went or broke off', async () => {
    const offenders = new ReturningOffenders();
    const { privateKeyPem: key, chainPem: cert } = await authority.serving([LOOPBACK]);
    const link = new Http2Server({ session: TUNNEL_SESSION_OPTIONS, key, cert }, (session) => {
      mayStay(session, { kind: 'anonymous', address: LOOPBACK });
    });
    const mayStay = boundUnlinked(link.tls, { counts: () => true, onLinked: () => undefined, offenders });
    const at = await listen(link.tls);
    const dialled = async (...more: Buffer[]): Promise<TLSSocket> => {
      const client = connect({ port: at, host: LOOPBACK, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
      client.on('error', () => undefined).resume();
      await once(client, 'secureConnect');
      client.write(Buffer.concat([PREFACE, settingsFrame([]), ...more]));
      return client;
    };
    const honest = await dialled();
    await eventually(() => expect(link.sessions).toHaveLength(1));
    honest.destroy();
    await eventually(() => expect(link.sessions).toEqual([]));
    expect(offenders.take(LOOPBACK)).toBe(false);
    // No client may push.
    const broken = await dialled(frame(FRAME.pushPromise, 0, 1, Buffer.alloc(4)));
    await eventually(() => expect(offenders.take(LOOPBACK)).toBe(true));
    expect(offenders.take(LOOPBACK)).toBe(false);
    broken.destroy();
    await link.close();
  });

  it('that one showed no certificate where one is needed, and not that its handshake broke off', async () => {
    const offenders = new ReturningOffenders();
    const { privateKeyPem: key, chainPem: cert } = await authority.serving([LOOPBACK]);
    const strict = createServer({ key, cert, ca: [...authority.roots], requestCert: true, minVersion: 'TLSv1.3' });
    noteFailedHandshakes(strict, offenders);
    const failed = (dial: () => void): Promise<unknown> => {
      const failing = once(strict, 'tlsClientError');
      dial();
      return failing;
    };
    const at = await listen(strict);
    await failed(() => {
      const reset = netConnect(at, LOOPBACK, () => reset.end()).on('error', () => undefined);
    });
    expect(offenders.take(LOOPBACK)).toBe(false);
    await failed(() => connect({ port: at, host: LOOPBACK, rejectUnauthorized: false }).on('error', () => undefined));
    expect(offenders.take(LOOPBACK)).toBe(true);
    strict.close();
  });
});
