import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import {
  Directory,
  EnrolmentLimiter,
  RenewingCertificate,
  TrustStore,
  createGatewayMetrics,
  createLinkServer,
} from '@fairlead/gateway/parts';
import type { TestInstallation } from '@fairlead/installation';
import { Registry, silentLogger } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { SessionRegistry } from '@fairlead/tunnel/gateway';
import { TunnelConnection } from '@fairlead/tunnel/link';

export interface OwnSessions extends AsyncDisposable {
  readonly link: string;
  /** A tunnel taken from the newest session of the installation's cluster, not opened yet. */
  opener(): Promise<TunnelConnection>;
}

/** The real agents' port with nothing behind it: tunnels of own sessions, without an HTTP door in between. */
export async function ownSessions({ authority, nats, cluster }: TestInstallation): Promise<OwnSessions> {
  const nc = await nats.connect({ role: 'gateway', credential: 'gateway-b' });
  const metrics = createGatewayMetrics(new Registry());
  const first = { rootsPem: authority.roots, trustDomain: authority.trustDomain };
  const directory = new Directory(nc, new TrustStore(nc, first, metrics, silentLogger), silentLogger);
  const registry = new SessionRegistry();
  const stopping = new AbortController();
  const certificate = await authority.gateway('gateway-b');
  const identity = new RenewingCertificate(
    'identity',
    () =>
      Promise.resolve({
        keyPem: certificate.privateKeyPem,
        chainPem: certificate.chain,
        rootsPem: authority.roots,
        notBefore: new Date(),
        notAfter: new Date(Date.now() + 3_600_000),
      }),
    silentLogger,
  );
  await identity.start(stopping.signal);
  const server = createLinkServer({
    gatewayId: 'gateway-b',
    instance: 'own-sessions',
    endpoints: ['127.0.0.1:1'],
    trustDomain: authority.trustDomain,
    identity,
    rpc: { call: () => Promise.reject(new FairleadError('UNAVAILABLE', 'nothing is signed here')) },
    directory,
    registry,
    replicas: { count: () => 1 },
    limiter: new EnrolmentLimiter(),
    events: {
      agentConnected: () => undefined,
      agentDisconnected: () => undefined,
      accessRefused: () => undefined,
      administratorUsed: () => undefined,
      stream: () => undefined,
    },
    metrics,
    onTrustHeld: () => undefined,
    onReport: () => undefined,
    onFacts: () => undefined,
    logger: silentLogger,
  });
  server.tls.listen(0, '127.0.0.1');
  await once(server.tls, 'listening');
  await eventually(() => {
    if (!directory.loaded || !directory.clusterById(cluster.clusterId)) throw new Error('the directory is not loaded');
  });
  return {
    link: `127.0.0.1:${(server.tls.address() as AddressInfo).port}`,
    opener: async () => {
      const [session] = registry.of(cluster.clusterId);
      if (!session) throw new Error('no session');
      return new TunnelConnection(await session.take(AbortSignal.timeout(10_000)), 'opener');
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      for (const session of registry.all()) registry.remove(session);
      await server.close();
    },
  };
}
