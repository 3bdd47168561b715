import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { createGatewayMetrics } from '@fairlead/gateway/parts';
import { Registry, noTracer, silentLogger } from '@fairlead/observability';
import type { TestCertificate } from '@fairlead/testing';
import {
  RelayClient,
  SessionRegistry,
  createRelayServer,
  type CertificateSource,
  type RevokedCertificates,
} from '@fairlead/tunnel/gateway';
import type { Replica, TestInstallation } from './replicas.js';

/** To a replica's own door, as another replica that shows this certificate. */
export function dialRelay(
  { authority }: TestInstallation,
  { gateway }: Replica,
  { privateKeyPem: key, chainPem: cert }: TestCertificate,
): TLSSocket {
  const [host = '', port = ''] = gateway.relay.address.split(':');
  const ca = [...authority.roots];
  const tls = { host, port: Number(port), ca, key, cert, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
  const socket = connect(tls).on('error', () => undefined);
  // Answers pings, however long a test takes: who is silent for eight seconds is ended.
  connectHttp2('https://127.0.0.1', { createConnection: () => socket }).on('error', () => undefined);
  return socket;
}

/** Resolves when the connection is closed, also if it is reset. */
export async function closed(socket: TLSSocket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => void socket.once('close', resolve));
}

/** Nothing is revoked, and nothing will be. */
const NONE_REVOKED: RevokedCertificates = { has: () => false, onChange: () => undefined };

export interface RelayEndsOptions {
  readonly trustDomain: string;
  /** PEM; what both ends trust. */
  readonly roots: readonly string[];
  /** Of the one that is dialled, `gateway-b`. */
  readonly server: TestCertificate;
  /** Of the one that dials. */
  readonly client: TestCertificate;
  /** What the dialling one knows to be revoked; default nothing. */
  readonly revoked?: RevokedCertificates;
}

/** The relaying parts of two replicas alone: one asks the other for tunnels. */
export interface RelayEnds extends AsyncDisposable {
  tunnel(): ReturnType<RelayClient['tunnel']>;
}

export async function startRelayEnds(options: RelayEndsOptions): Promise<RelayEnds> {
  const { trustDomain, roots } = options;
  const server = createRelayServer({
    identity: sourceOf(options.server, roots),
    trustDomain,
    registry: new SessionRegistry(),
    revoked: NONE_REVOKED,
    metrics: createGatewayMetrics(new Registry()),
    logger: silentLogger,
    tracer: noTracer,
    events: { accessRefused: () => undefined },
  });
  server.tls.listen(0, '127.0.0.1');
  await once(server.tls, 'listening');
  const own = sourceOf(options.client, roots);
  const client = new RelayClient(own, trustDomain, options.revoked ?? NONE_REVOKED, silentLogger);
  const relayAddress = `127.0.0.1:${(server.tls.address() as AddressInfo).port}`;
  return {
    tunnel: () => client.tunnel({ credential: 'gateway-b', instance: 'b', relayAddress }),
    [Symbol.asyncDispose]: async () => {
      client.close();
      await server.close();
    },
  };
}

function sourceOf({ privateKeyPem, chain }: TestCertificate, roots: readonly string[]): CertificateSource {
  const current = {
    keyPem: privateKeyPem,
    chainPem: chain,
    rootsPem: roots,
    notBefore: new Date(),
    notAfter: new Date(Date.now() + 3_600_000),
  };
  return { current, onChange: (listener) => listener(current) };
}
