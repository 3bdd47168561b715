import { randomUUID } from 'node:crypto';
import { systemClock } from '@fairlead/clock';
import { noTracer, type Check } from '@fairlead/observability';
import {
  RelayClient,
  RoutePublisher,
  RouteTable,
  SessionRegistry,
  TunnelOpener,
  createRelayServer,
  watchRoutes,
} from '@fairlead/tunnel/gateway';
import { createConnectDoor } from './doors/connect/door.js';
import { Directory } from './directory.js';
import { drainAndStop } from './drain.js';
import { Egress } from './doors/egress/serve-egress.js';
import { endOrphanedSessions } from './sessions/end-orphaned-sessions.js';
import { endRevokedSessions } from './sessions/end-revoked-sessions.js';
import { EnrolmentLimiter } from './link/enrolment-limiter.js';
import { obtainCertificates, type GatewayCertificates } from './certificates/gateway-certificates.js';
import type { GatewayOptions, GatewayServers, GatewayState } from './gateway-state.js';
import { createGatewayMetrics } from './status/gateway-metrics.js';
import { debugView, readiness } from './status/gateway-status.js';
import { createKubeApiDoor } from './doors/kube-api/door.js';
import { TunnelPool } from './doors/kube-api/tunnel-pool.js';
import { createLinkServer } from './link/link-server.js';
import type { LinkServiceOptions } from './link/link-service.js';
import { DesiredStates } from './gitops/desired-states.js';
import { ReportForwarder } from './gitops/report-forwarder.js';
import { tellDesired } from './gitops/tell-desired.js';
import { listen, type Listening } from './listen.js';
import { LiveConnections } from './passage/live-connections.js';
import { meterConnections } from './status/live-metrics.js';
import { FactsReport } from './reporting/report-facts.js';
import { replaceRevoked } from './certificates/replace-revoked.js';
import { reportSessions } from './reporting/report-sessions.js';
import { TroubleReporter, reportLosses, reportRefusals } from './reporting/report-troubles.js';
import { tellCrowd } from './sessions/tell-crowd.js';
import { tellTrust } from './trust/tell-trust.js';
import { TrustReport } from './trust/trust-report.js';
import { TrustStore, type FirstTrust } from './trust/trust-store.js';
import { followActiveRoot, trustedIdentity } from './trust/trusted-identity.js';
import { watchConnections } from './passage/watch-connections.js';

/** Clusters with a label of their own in metrics, unless told otherwise. */
const NAMED_CLUSTERS = 50;

export interface Gateway {
  readonly instance: string;
  readonly link: Listening;
  readonly relay: Listening;
  readonly door: Listening;
  /** The CONNECT door, if there is one. */
  readonly connect: Listening | null;
  readiness(): readonly Check[];
  /** Live sessions and what is known of other replicas, for people. */
  debugView(): unknown;
  /** Tells agents to move, leaves the routes, waits for balancers and for what runs (a few seconds each), and stops. */
  stop(): Promise<void>;
}

/** One gateway replica. Resolves once it has its certificates and listens; waits for `keys` and NATS if they are away. */
export async function startGateway(given: GatewayOptions, signal: AbortSignal): Promise<Gateway> {
  const { rpc, doorCertificate, logger } = given;
  const troubles = new TroubleReporter(rpc, logger, signal);
  const options = { ...given, events: reportRefusals(given.events, troubles) };
  const state = buildState(options, await obtainCertificates(rpc, doorCertificate, logger, signal));
  const { trust } = state.directory;
  const servers = buildServers(options, state, listenTo(options, state, signal));
  tellDesired(new DesiredStates(options.nc, logger), state.sessions);
  followActiveRoot(state.certificates.identity, trust);
  replaceRevoked(state.certificates.identity, state.directory.revocations, logger);
  reportSessions({ ...state, ...options });
  reportLosses(state.sessions, troubles);
  tellCrowd(state.sessions);
  endOrphanedSessions(options.nc, state.directory, state.sessions);
  endRevokedSessions(state.directory, state.sessions, logger);
  watchConnections({ nc: options.nc, live: state.live, metrics: state.metrics, logger }, signal);
  const relay = await listen(servers.relay.tls, options.relayListen);
  const link = await listen(servers.link.tls, options.linkListen);
  const door = await listen(servers.door, options.doorListen);
  const connect =
    servers.connect && options.connectListen ? await listen(servers.connect, options.connectListen) : null;
  const publisher = buildPublisher(options, state, options.relayAddress ?? relay.address);
  const publishing = new AbortController();
  void publisher.run(publishing.signal);
  return {
    instance: state.instance,
    link,
    relay,
    door,
    connect,
    readiness: () => readiness(options.nc, state, publishing.signal.aborted),
    debugView: () => debugView(options, state),
    stop: () => {
      publishing.abort();
      return drainAndStop(state, publisher, servers, options.doorGraceMs);
    },
  };
}

function buildState(options: GatewayOptions, certificates: GatewayCertificates): GatewayState {
  const { nc, logger, zone, leaseMs, registry, tracer = noTracer } = options;
  const { instance = randomUUID() } = options;
  const metrics = createGatewayMetrics(registry);
  const sessions = new SessionRegistry();
  const table = new RouteTable({ ownInstance: instance, zone, leaseMs });
  const routes = watchRoutes(nc, table, systemClock, logger);
  const trust = new TrustStore(nc, firstTrust(certificates), metrics, logger);
  const identity = trustedIdentity(certificates.identity, trust);
  const directory = new Directory(nc, trust, logger);
  const relayClient = new RelayClient(identity, certificates.trustDomain, directory.revocations, logger);
  const opener = new TunnelOpener({
    registry: sessions,
    table,
    time: routes.time,
    relay: relayClient,
    metrics,
    logger,
    tracer,
  });
  const live = new LiveConnections();
  meterConnections({ registry, live, sessions, directory, namedClusters: options.metricsClusters ?? NAMED_CLUSTERS });
  return {
    instance,
    certificates,
    identity,
    directory,
    sessions,
    table,
    routes,
    relayClient,
    opener,
    pool: new TunnelPool(opener),
    metrics,
    live,
  };
}

function firstTrust({ identity, trustDomain, trustVersion }: GatewayCertificates): FirstTrust {
  return { rootsPem: identity.current?.rootsPem ?? [], trustDomain, version: trustVersion };
}

/** What agents say on their links goes to the services that it is for. */
type Heard = Pick<LinkServiceOptions, 'onTrustHeld' | 'onFacts' | 'onReport'>;

function listenTo(options: GatewayOptions, state: GatewayState, signal: AbortSignal): Heard {
  const { rpc, logger } = options;
  const { directory, sessions } = state;
  const facts = new FactsReport(rpc, logger, signal);
  return {
    onTrustHeld: tellTrust(directory.trust, sessions, new TrustReport(rpc, logger, signal)),
    // An agent speaks for the cluster of its certificate.
    onFacts: (session, said) => facts.said(session.facts, said),
    onReport: new ReportForwarder({ ...state, ...options, signal }).take,
  };
}

function buildServers(options: GatewayOptions, state: GatewayState, heard: Heard): GatewayServers {
  const { credential, linkEndpoints, rpc, events, logger, tracer = noTracer } = options;
  const { certificates, identity, directory, sessions, opener, pool, metrics, instance, live } = state;
  const { serving, trustDomain } = certificates;
  const link = createLinkServer({
    gatewayId: credential,
    instance,
    endpoints: linkEndpoints,
    trustDomain,
    identity,
    rpc,
    directory,
    registry: sessions,
    limiter: new EnrolmentLimiter(),
    events,
    metrics,
    logger,
    egress: buildEgress(options, state),
    ...heard,
  });
  const revoked = directory.revocations;
  const relay = createRelayServer({
    identity,
    trustDomain,
    registry: sessions,
    revoked,
    events,
    metrics,
    logger,
    tracer,
  });
  const { connectListen, connectLimits, kubeApiLimits, clusterDomain } = options;
  const shared = { directory, ingress: credential, events, metrics, logger, tracer, live };
  const door = createKubeApiDoor({ ...shared, certificate: serving, pool, limits: kubeApiLimits, clusterDomain });
  const connect = connectListen
    ? createConnectDoor({ ...shared, serving, identity, trustDomain, opener, limits: connectLimits })
    : null;
  return { link, relay, door, connect };
}

function buildEgress(options: GatewayOptions, { directory, live, metrics }: GatewayState): Egress | undefined {
  const {
    egressRules: rules = [],
    egressLimits: limits,
    credential: ingress,
    events,
    logger,
    tracer = noTracer,
  } = options;
  if (rules.length === 0) return undefined;
  return new Egress({ rules, limits, ingress, directory, live, metrics, events, logger, tracer });
}

function buildPublisher(options: GatewayOptions, state: GatewayState, relayAddress: string): RoutePublisher {
  const { nc, logger, leaseMs, credential, zone } = options;
  return new RoutePublisher({
    nc,
    registry: state.sessions,
    table: state.table,
    time: state.routes.time,
    clock: systemClock,
    logger,
    leaseMs,
    heartbeat: { credential, instance: state.instance, relayAddress, zone },
    trustVersion: () => state.directory.trust.version,
  });
}
