import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as netConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { eventually, type TestCertificate } from '@fairlead/testing';
import { CONTROL_PATH } from '@fairlead/tunnel/link';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { collectLines, type CollectedLine } from '@fairlead/observability/testing';
import { clientCertificate, connectThrough, dialConnectDoor } from './connect-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

/** Lines of one cause and kind: so many at once, then two a second. */
const BURST = 100;
const FLOOD = 250;
const AT_ONCE = 25;

const { logger, lines } = collectLines();
let installation: TestInstallation;
let replica: Replica;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica('gateway-a', { logger });
});
afterAll(() => installation?.[Symbol.asyncDispose]());
beforeEach(() => {
  lines.length = 0;
});

const told = (event: string, address: string): CollectedLine[] =>
  lines.filter((line) => line.event === event && line['address'] === address);
const suppressed = (some: readonly CollectedLine[]): number =>
  some.reduce((sum, line) => sum + Number(line['suppressed'] ?? 0), 0);

/** Does it so often, and looks at what the log has of it: few lines, and in the next one how many are missing. Returns how many there are. */
async function fewLines(event: string, address: string, cause: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  for (let done = 0; done < FLOOD; done += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, cause));
  let causes = FLOOD;
  const few = (): number => BURST + 2 * Math.ceil((performance.now() - startedMs) / 1_000) + 1;
  expect(told(event, address).length).toBeLessThanOrEqual(few());
  expect(told(event, address).length).toBeGreaterThanOrEqual(BURST - 20);
  await eventually(async () => {
    causes += 1;
    await cause();
    const all = told(event, address);
    // The last one may not have been told yet.
    expect(all.length + suppressed(all)).toBeGreaterThanOrEqual(causes - 1);
  });
  expect(told(event, address).length).toBeLessThanOrEqual(few());
  expect(told(event, address).length + suppressed(told(event, address))).toBeLessThanOrEqual(causes);
  return told(event, address).length;
}

/** Bytes that begin no handshake; resolves when the door has ended the connection. */
async function talkPlainly(port: number, localAddress: string): Promise<void> {
  const socket = netConnect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  socket.resume().end('GET / HTTP/1.0\r\n\r\n');
  await once(socket, 'close');
}

it.each([
  { door: 'the agents’ door', address: '127.0.0.11', portOf: () => replica.gateway.link.port },
  { door: 'the replicas’ own door', address: '127.0.0.12', portOf: () => replica.gateway.relay.port },
  { door: 'the Kubernetes API door', address: '127.0.0.13', portOf: () => replica.gateway.door.port },
  { door: 'the CONNECT door', address: '127.0.0.14', portOf: () => replica.gateway.connect?.port ?? 0 },
])('a flood of bad handshakes at $door leaves few lines', async ({ address, portOf }) => {
  const flooding = (): Promise<void> => talkPlainly(portOf(), address);
  expect(await fewLines('tls.handshake.failed', address, flooding)).toBeLessThan(FLOOD);
  await talkPlainly(portOf(), '127.0.0.19');
  await eventually(() => expect(told('tls.handshake.failed', '127.0.0.19')).toHaveLength(1));
});

it('a flood of requests that the CONNECT door refuses leaves few lines of that client, and those of others', async () => {
  const { authority } = installation;
  const flood = await installation.addClient(null);
  const other = await installation.addClient(null);
  const ask = async ({ clientId }: { readonly clientId: string }) => {
    const certificate = await clientCertificate(authority, clientId);
    return async (): Promise<void> => {
      const { socket, plain } = await connectThrough(replica, { authority, certificate, target: 'no-port' });
      socket.destroy();
      plain.destroy();
    };
  };
  const [flooding, asking] = [await ask(flood), await ask(other)];
  const of = ({ clientId }: { readonly clientId: string }): CollectedLine[] =>
    lines.filter((line) => line.event === 'connect.refused' && line['clientId'] === clientId);
  await eventually(async () => {
    await asking();
    expect(of(other).length).toBeGreaterThan(0);
  });
  await eventually(async () => {
    await flooding();
    expect(of(flood).length).toBeGreaterThan(0);
  });
  lines.length = 0;
  expect(await fewLines('connect.refused', '127.0.0.1', flooding)).toBeLessThan(FLOOD);
  const before = of(other).length;
  await asking();
  await eventually(() => expect(of(other)).toHaveLength(before + 1));
});

it('a flood of certificates that are no client’s, at the CONNECT door, leaves few lines of that address', async () => {
  const { authority, cluster } = installation;
  const { privateKeyPem: key, chainPem: cert } = await authority.agent(cluster.clusterId);
  const call = { authority, certificate: { key, cert }, target: 'a:1' };
  // The handshake is one that the door would refuse later.
  (await dialConnectDoor(replica, call)).plain.destroy();
  const flooding = async (): Promise<void> => {
    const { socket, plain } = await connectThrough(replica, call);
    socket.destroy();
    plain.destroy();
  };
  expect(await fewLines('connect.refused', '127.0.0.1', flooding)).toBeLessThan(FLOOD);
});

async function speakHttp2(
  port: number,
  localAddress: string,
  certificate?: TestCertificate,
): Promise<ClientHttp2Session> {
  const session = connectHttp2('https://127.0.0.1', {
    createConnection: () =>
      tlsConnect({
        socket: netConnect({ port, host: '127.0.0.1', localAddress }),
        ...(certificate ? { key: certificate.privateKeyPem, cert: certificate.chainPem } : {}),
        ca: [...installation.authority.roots],
        checkServerIdentity: () => undefined,
        ALPNProtocols: ['h2'],
      }),
  });
  session.on('error', () => undefined);
  return session;
}

async function after(before: Promise<void>, action: () => Promise<void>): Promise<void> {
  await before;
  await action();
}

it('a flood of links that are refused leaves few lines', async () => {
  const session = await speakHttp2(replica.gateway.link.port, '127.0.0.15');
  await once(session, 'connect');
  const sayNothing = async (): Promise<void> => {
    const stream = session.request({
      ':method': 'POST',
      ':path': CONTROL_PATH,
      'content-type': 'application/grpc+proto',
      te: 'trailers',
    });
    stream.on('error', () => undefined).resume();
    stream.end();
    await once(stream, 'close');
  };
  // One after the other: a session has few calls at once.
  let last = Promise.resolve();
  const inTurn = (): Promise<void> => (last = after(last, sayNothing));
  expect(await fewLines('agent.link.refused', '127.0.0.15', inTurn)).toBeLessThan(FLOOD);
  session.destroy();
});

it('a flood of replicas that are none leaves few lines', async () => {
  const certificate = await installation.authority.agent(installation.cluster.clusterId);
  const flooding = async (): Promise<void> => {
    const session = await speakHttp2(replica.gateway.relay.port, '127.0.0.16', certificate);
    await once(session, 'close');
  };
  expect(await fewLines('relay.peer.refused', '127.0.0.16', flooding)).toBeLessThan(FLOOD);
});
