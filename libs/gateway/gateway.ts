import { systemClock } from '@fairlead/clock';
import { RateLimitedLog, type Balancers } from '@fairlead/limits';
import type { Check } from '@fairlead/observability';
import { RoutePublisher, createRelayServer } from '@fairlead/tunnel/gateway';
import { AuditForwarder } from './audit/audit-forwarder.js';
import { obtainCertificates } from './certificates/gateway-certificates.js';
import { createConnectDoor } from './doors/connect/door.js';
import { Egress } from './doors/egress/serve-egress.js';
import { createKubeApiDoor } from './doors/kube-api/door.js';
import { drainAndStop } from './drain.js';
import { buildState, type GatewayOptions, type GatewayServers, type GatewayState } from './gateway-state.js';
import { ReportForwarder } from './gitops/report-forwarder.js';
import { DesiredStates, tellDesired } from './gitops/tell-desired.js';
import { EnrolmentLimiter } from './link/enrolment-limiter.js';
import { createLinkServer } from './link/link-server.js';
import type { LinkServiceOptions } from './link/link-service.js';
import { listen, type Listening } from './listen.js';
import { answerPassages } from './passage/answer-passages.js';
import { watchConnections } from './passage/watch-connections.js';
import { FactsReport } from './reporting/report-facts.js';
import { reportSessions } from './reporting/report-sessions.js';
import { ProblemReporter, reportLosses, reportRefusals } from './reporting/report-problems.js';
import { endOrphanedSessions, endRevokedSessions } from './sessions/end-sessions.js';
import { tellCrowd } from './sessions/tell-sessions.js';
import { debugView, readiness } from './status/gateway-status.js';
import { RevocationLists, tellStatementRevocations } from './trust/tell-statement-revocations.js';
import { TrustReport, tellTrust } from './trust/trust-report.js';
import { followActiveRoot, replaceRevoked } from './trust/trusted-identity.js';

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
  // Before any door is open, and after the spool of an earlier process under this name was taken over: what that began is told by it from what this one does.
  const startedAt = new Date();
  const problems = new ProblemReporter(rpc, logger, signal);
  const options = { ...given, events: reportRefusals(given.events, problems) };
  const state = buildState(options, await obtainCertificates(rpc, doorCertificate, logger, signal));
  const { trust } = state.directory;
  const servers = buildServers(options, state, listenTo(options, state, signal));
  tellDesired(new DesiredStates(options.nc, logger), state.sessions);
  tellStatementRevocations(new RevocationLists(options.nc, logger), state.sessions);
  followActiveRoot(state.certificates.identity, trust);
  replaceRevoked(state.certificates.identity, state.directory.revocations, logger);
  reportSessions({ ...state, ...options });
  reportLosses(state.sessions, problems);
  tellCrowd(state.sessions, state.replicas);
  endOrphanedSessions(options.nc, state.directory, state.sessions);
  endRevokedSessions(state.directory, state.sessions, logger);
  // Access ends also while what runs is given time.
  const watching = new AbortController();
  watchConnections({ nc: options.nc, live: state.live, metrics: state.metrics, logger }, watching.signal);
  answerPassages({ ...options, ...state });
  const balancersAt = balancersOf(options);
  const relay = await listen(servers.relay.tls, options.relayListen, balancersAt('relay'));
  const link = await listen(servers.link.tls, options.linkListen, balancersAt('link'));
  const door = await listen(servers.door, options.doorListen, balancersAt('door'));
  const connect =
    servers.connect && options.connectListen
      ? await listen(servers.connect, options.connectListen, balancersAt('connect'))
      : null;
  const publisher = buildPublisher(options, state, { relayAddress: options.relayAddress ?? relay.address, startedAt });
  const forwarder = options.audit && new AuditForwarder({ ...options, ...options.audit });
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
    stop: async () => {
      publishing.abort();
      await drainAndStop(state, publisher, servers, options.doorGraceMs);
      watching.abort();
      state.audit.close();
      await forwarder?.[Symbol.asyncDispose]();
    },
  };
}

/** Of all ports alike. What a balancer does wrong it does with every connection. */
function balancersOf({ balancers: networks = [], logger }: GatewayOptions): (port: string) => Balancers {
  const lines = new RateLimitedLog();
  return (port) => ({
    networks,
    onRefused: (reason, address) => {
      const line = lines.next({ address });
      if (line) logger.warn('proxy_protocol.refused', { port, reason, address, ...line });
    },
  });
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
  const { credential, connectListen, connectLimits, kubeApiLimits } = options;
  const { certificates, directory, sessions } = state;
  const { serving, trustDomain } = certificates;
  const every = { ...options, ...state, registry: sessions, ingress: credential, trustDomain };
  const egress = buildEgress(options, state);
  const limiter = new EnrolmentLimiter();
  const endpoints = options.linkEndpoints;
  const link = createLinkServer({ ...every, ...heard, gatewayId: credential, endpoints, limiter, egress });
  const relay = createRelayServer({ ...every, revoked: directory.revocations });
  const door = createKubeApiDoor({ ...every, certificate: serving, limits: kubeApiLimits });
  const connect = connectListen ? createConnectDoor({ ...every, serving, limits: connectLimits }) : null;
  return { link, relay, door, connect };
}

function buildEgress(options: GatewayOptions, state: GatewayState): Egress | undefined {
  const { egressRules: rules = [], egressLimits: limits, credential: ingress } = options;
  return rules.length === 0 ? undefined : new Egress({ ...options, ...state, rules, limits, ingress });
}

function buildPublisher(
  options: GatewayOptions,
  state: GatewayState,
  { relayAddress, startedAt }: { readonly relayAddress: string; readonly startedAt: Date },
): RoutePublisher {
  const { credential, zone } = options;
  const { instance, sessions, directory, routes } = state;
  return new RoutePublisher({
    ...options,
    ...state,
    registry: sessions,
    time: routes.time,
    clock: systemClock,
    heartbeat: { credential, instance, startedAt: startedAt.toISOString(), relayAddress, zone },
    trustVersion: () => directory.trust.version,
  });
}
