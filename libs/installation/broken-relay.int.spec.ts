import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { createGatewayMetrics } from '@fairlead/gateway/parts';
import { HTTP2_CODE, connectHttp2, type Http2Server, type Http2Session, type Http2Stream } from '@fairlead/http2';
import { Registry, noTracer, silentLogger, type Logger, type Tracer } from '@fairlead/observability';
import { eventually, testAuthority, type TestAuthority } from '@fairlead/testing';
import { SessionRegistry, createRelayServer, type AgentSession } from '@fairlead/tunnel/gateway';
import { RELAY_PATH, RELAY_SESSION_OPTIONS, TunnelConnection, requestGrpcStream } from '@fairlead/tunnel/link';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { collectCrashes, type Crashes } from './crashes.js';

const fault = (): never => {
  throw new Error('a fault of ours');
};

let authority: TestAuthority;
let server: Http2Server;
let session: Http2Session;
const errors: string[] = [];
let crashes: Crashes;
/** What each test breaks. */
const parts = { of: (): AgentSession[] => [], begin: noTracer.begin.bind(noTracer) };

beforeAll(async () => {
  crashes = collectCrashes();
  authority = await testAuthority();
  const { privateKeyPem: keyPem, chain: chainPem } = await authority.gateway('gateway-a');
  const [notBefore, notAfter] = [new Date(), new Date(Date.now() + 3_600_000)];
  const current = { keyPem, chainPem, rootsPem: authority.roots, notBefore, notAfter };
  const logger: Logger = { ...silentLogger, error: (event) => void errors.push(event) };
  server = createRelayServer({
    revoked: { has: () => false, onChange: () => undefined },
    identity: { current, onChange: (listener) => listener(current) },
    trustDomain: authority.trustDomain,
    registry: Object.assign(new SessionRegistry(), { of: () => parts.of() }),
    metrics: createGatewayMetrics(new Registry()),
    logger,
    tracer: { ...noTracer, begin: (...args: Parameters<Tracer['begin']>) => parts.begin(...args) },
    events: { accessRefused: () => undefined },
  });
  server.tls.listen(0, '127.0.0.1');
  await once(server.tls, 'listening');
  session = await dial((server.tls.address() as AddressInfo).port);
});
beforeEach(() => {
  errors.length = 0;
  Object.assign(parts, { of: () => [], begin: noTracer.begin.bind(noTracer) });
});
afterAll(async () => {
  session?.destroy();
  await server?.close();
  crashes[Symbol.dispose]();
});

async function dial(port: number): Promise<Http2Session> {
  const { privateKeyPem: key, chainPem: cert } = await authority.gateway('gateway-b');
  const ca = [...authority.roots];
  const ALPNProtocols = ['h2'];
  const socket = tlsConnect({
    port,
    host: '127.0.0.1',
    ca,
    key,
    cert,
    ALPNProtocols,
    checkServerIdentity: () => undefined,
  });
  await once(socket, 'secureConnect');
  return connectHttp2(socket, RELAY_SESSION_OPTIONS);
}

/** Asks for a tunnel, and tells why there is none. */
function ask(): Promise<unknown> {
  const tunnel = new TunnelConnection(requestGrpcStream(session, RELAY_PATH), 'opener');
  return tunnel
    .open(
      {
        $typeName: 'fairlead.link.v1.Open',
        tunnelId: crypto.randomUUID(),
        tenantId: 'default',
        clusterId: crypto.randomUUID(),
        generation: 1,
        traceparent: '',
        target: { case: undefined },
      } as unknown as Parameters<TunnelConnection['open']>[0],
      AbortSignal.timeout(10_000),
    )
    .then(
      () => 'OPENED',
      (error: unknown) => error,
    );
}

/** An agent's stream that cannot be written to. */
function brokenStream(cancelled: number[]): Http2Stream {
  const cancel = (code: number): void => void cancelled.push(code);
  return { write: fault, closed: false, cancel } as unknown as Http2Stream;
}

it('refuses a cluster that it has no link of', async () => {
  expect(await ask()).toMatchObject({ code: 'NO_SESSION' });
  expect([errors, crashes.seen]).toEqual([[], []]);
});

it.each<[string, () => void]>([
  ['before an agent is looked for', () => void (parts.begin = fault)],
  ['when an agent is looked for', () => void (parts.of = fault)],
  ['when its tunnel is taken', () => void (parts.of = () => [{ take: fault } as unknown as AgentSession])],
])('a fault of ours %s costs this tunnel, whose stream ends, and is logged once', async (_, breakIt) => {
  breakIt();
  expect(await ask()).toMatchObject({ code: 'TUNNEL_RESET' });
  expect([errors, crashes.seen]).toEqual([['relay.tunnel.broken'], []]);
});

it('a fault of ours after the agent gave a tunnel ends both streams, once', async () => {
  const cancelled: number[] = [];
  const take = async (): Promise<Http2Stream> => brokenStream(cancelled);
  parts.of = () => [{ take } as unknown as AgentSession];
  expect(await ask()).toMatchObject({ code: 'TUNNEL_RESET' });
  await eventually(() => expect(errors).toEqual(['relay.tunnel.broken']));
  expect([cancelled, crashes.seen]).toEqual([[HTTP2_CODE.internalError], []]);
});
