import { randomUUID } from 'node:crypto';
import type { Http2SecureServer } from 'node:http2';
import { systemClock } from '@fairlead/clock';
import { NO_TENANT, keysRpc } from '@fairlead/contracts';
import { connectionState, type RpcClient } from '@fairlead/messaging';
import type { Check, Logger, Registry } from '@fairlead/observability';
import { createCsr, generatePrivateKey } from '@fairlead/pki';
import type { NatsConnection } from '@nats-io/transport-node';
import { X509Certificate } from 'node:crypto';
import { Directory } from './directory.js';
import { EnrolmentLimiter } from './enrolment-limiter.js';
import type { GatewayEvents } from './gateway-events.js';
import { createGatewayMetrics } from './gateway-metrics.js';
import { createKubeApiDoor } from './kube-api/door.js';
import { TunnelPool } from './kube-api/tunnel-pool.js';
import { createLinkServer } from './link-server.js';
import { listen, type Listening } from './listen.js';
import { RelayClient } from './relay/relay-client.js';
import { createRelayServer } from './relay/relay-server.js';
import { RenewingCertificate, type TlsIdentity } from './renewing-certificate.js';
import { RoutePublisher } from './routing/route-publisher.js';
import { RouteTable } from './routing/route-table.js';
import { watchRoutes } from './routing/route-watcher.js';
import { SessionRegistry } from './session-registry.js';
import { TunnelOpener } from './tunnel-opener.js';

export interface GatewayOptions {
  /** Name of the NATS credential, and of the identity `/gateway/<name>`. */
  readonly credential: string;
  readonly nc: NatsConnection;
  readonly rpc: RpcClient;
  readonly events: GatewayEvents;
  readonly logger: Logger;
  readonly registry: Registry;
  /** `host:port`; port 0 takes any. */
  readonly linkListen: string;
  readonly relayListen: string;
  readonly doorListen: string;
  /** Where other replicas reach relayListen; its own address if absent. */
  readonly relayAddress?: string;
  /** DNS names and addresses in the door's certificate. */
  readonly servingNames: readonly string[];
  /** What Discover tells agents to dial. */
  readonly linkEndpoints: readonly string[];
  readonly zone: string;
  readonly leaseMs: number;
}

/** How old the snapshot may grow before new links are refused. */
const MAX_STALENESS_MS = 3_600_000;
const DRAIN_MS = 5_000;

export interface Gateway {
  readonly instance: string;
  readonly link: Listening;
  readonly relay: Listening;
  readonly door: Listening;
  readiness(): readonly Check[];
  /** Live sessions and what is known of other replicas, for people. */
  debugView(): unknown;
  /** Tells agents to move, leaves the routes, waits for what runs (a few seconds at most), and stops. */
  stop(): Promise<void>;
}

/** One gateway replica. Resolves once it has its certificates and listens; waits for `keys` and NATS if they are away. */
export async function startGateway(options: GatewayOptions, signal: AbortSignal): Promise<Gateway> {
  const { nc, logger, credential, registry: metricsRegistry } = options;
  const instance = randomUUID();
  const metrics = createGatewayMetrics(metricsRegistry);
  const identity = new RenewingCertificate('identity', () => obtainIdentity(options), logger);
  const serving = new RenewingCertificate('serving', () => obtainServing(options), logger);
  const directory = new Directory(nc, logger);
  const sessions = new SessionRegistry();
  const table = new RouteTable({ ownInstance: instance, zone: options.zone, leaseMs: options.leaseMs });
  const { snapshot: routes, time } = watchRoutes(nc, table, systemClock, logger);
  const relayClient = new RelayClient(identity, logger);
  const opener = new TunnelOpener({ registry: sessions, table, time, relay: relayClient, metrics, logger });
  const pool = new TunnelPool(opener);
  let trustDomain = '';

  const bundle = identity.start(signal).then(async (first) => {
    trustDomain = trustDomainOf(first);
    await serving.start(signal);
  });
  await bundle;

  const link = createLinkServer({
    gatewayId: credential,
    instance,
    endpoints: options.linkEndpoints,
    trustDomain: () => trustDomain,
    identity,
    rpc: options.rpc,
    directory,
    registry: sessions,
    limiter: new EnrolmentLimiter(),
    events: options.events,
    metrics,
    logger,
  });
  const relay = createRelayServer({ identity, registry: sessions, events: options.events, metrics, logger });
  const door = createKubeApiDoor({ certificate: serving, directory, pool, events: options.events, metrics, logger });
  sessions.onChange((change, session) => {
    metrics.sessions.set(sessions.all().length);
    const { remoteAddress: _, connectedAtMs: __, ...facts } = session.facts;
    logger.info(change === 'opened' ? 'agent.connected' : 'agent.disconnected', facts);
    if (change === 'opened') options.events.agentConnected(facts);
    else {
      metrics.sessionsEnded.inc();
      options.events.agentDisconnected(facts);
    }
  });

  const relayListening = await listen(relay, options.relayListen);
  const linkListening = await listen(link, options.linkListen);
  const doorListening = await listen(door, options.doorListen);
  const publisher = new RoutePublisher({
    nc,
    registry: sessions,
    table,
    time,
    clock: systemClock,
    logger,
    leaseMs: options.leaseMs,
    heartbeat: {
      credential,
      instance,
      relayAddress: options.relayAddress ?? relayListening.address,
      zone: options.zone,
    },
  });
  const publishing = new AbortController();
  void publisher.run(publishing.signal);

  return {
    instance,
    link: linkListening,
    relay: relayListening,
    door: doorListening,
    readiness: () => [
      { name: 'certificates', ok: identity.current !== null && serving.current !== null },
      { name: 'snapshot', ok: directory.loaded && routes.isLoaded },
      { name: 'snapshot-age', ok: fresh(directory), detail: 'older than an hour: no new links are taken' },
      // Being away from NATS is no reason to be taken out of service: what is known keeps working.
      {
        name: 'nats',
        ok: true,
        detail: connectionState(nc).connected ? 'connected' : 'away; routing on what is known',
      },
      { name: 'draining', ok: !publishing.signal.aborted },
    ],
    debugView: () => ({
      instance,
      credential,
      nats: connectionState(nc).connected ? 'connected' : 'away',
      sessions: sessions.all().map((session) => ({
        ...session.facts,
        parked: session.parked,
        inFlight: session.inFlight,
      })),
      routes: [...routes.entries()].map(([key, value]) => ({ key, ...value })),
    }),
    stop: async () => {
      publishing.abort();
      await publisher.drain();
      for (const session of sessions.all()) {
        session.say({ case: 'drain', value: { $typeName: 'fairlead.link.v1.Drain', deadlineMs: DRAIN_MS } });
      }
      await Promise.all([closeServer(door), idle(sessions)]);
      await publisher.withdraw();
      pool.close();
      relayClient.close();
      for (const session of sessions.all()) sessions.remove(session);
      await Promise.all([closeServer(link), closeServer(relay)]);
    },
  };
}

function fresh(directory: Directory): boolean {
  return directory.syncedAtMs !== null && Date.now() - directory.syncedAtMs < MAX_STALENESS_MS;
}

async function obtainIdentity({ rpc }: GatewayOptions): Promise<TlsIdentity> {
  const keyPem = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(keyPem)).toString('base64');
  const issued = await rpc.call(keysRpc.signGateway, NO_TENANT, { csr });
  return { keyPem, chainPem: issued.chain, rootsPem: issued.roots, ...validity(issued.chain) };
}

async function obtainServing({ rpc, servingNames }: GatewayOptions): Promise<TlsIdentity> {
  const keyPem = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(keyPem)).toString('base64');
  const issued = await rpc.call(keysRpc.signServing, NO_TENANT, { csr, names: [...servingNames] });
  return { keyPem, chainPem: issued.chain, rootsPem: issued.roots, ...validity(issued.chain) };
}

function validity(chain: readonly string[]): { notBefore: Date; notAfter: Date } {
  const leaf = new X509Certificate(chain[0] ?? '');
  return { notBefore: new Date(leaf.validFrom), notAfter: new Date(leaf.validTo) };
}

function trustDomainOf({ chainPem }: TlsIdentity): string {
  return /URI:spiffe:\/\/([^/]+)\//.exec(new X509Certificate(chainPem[0] ?? '').subjectAltName ?? '')?.[1] ?? '';
}

/** Waits until no tunnel is in use, or the drain's time is up. */
async function idle(sessions: SessionRegistry): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  while (sessions.inFlight > 0 && performance.now() < deadline) await systemClock.sleep(50);
}

/** Stops listening; connections that outlive the drain are cut when the process ends. */
function closeServer(server: Http2SecureServer): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DRAIN_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
