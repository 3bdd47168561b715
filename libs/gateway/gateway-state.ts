import { randomUUID } from 'node:crypto';
import type { Http2SecureServer } from 'node:http2';
import type { Server } from 'node:net';
import { systemClock } from '@fairlead/clock';
import type { Http2Server } from '@fairlead/http2';
import type { RpcClient } from '@fairlead/messaging';
import { noTracer, type Logger, type Registry, type Tracer } from '@fairlead/observability';
import { RelayClient, RouteTable, SessionRegistry, TunnelOpener, watchRoutes } from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import type { DoorCertificate, GatewayCertificates } from './certificates/gateway-certificates.js';
import { SpooledAudit, noAudit } from './audit/audit-trail.js';
import type { GatewayAudit } from './audit/open-audit.js';
import { Directory } from './directory.js';
import type { ConnectLimits } from './doors/connect/connect-context.js';
import type { EgressRule } from './doors/egress/egress-rules.js';
import type { KubeApiLimits } from './doors/kube-api/door.js';
import { TunnelPools } from './doors/kube-api/tunnel-pools.js';
import type { DoorLimits } from './limits/door-limiter.js';
import { LiveConnections } from './passage/live-connections.js';
import type { GatewayEvents } from './reporting/gateway-events.js';
import { createGatewayMetrics } from './status/gateway-metrics.js';
import { meterConnections } from './status/live-metrics.js';
import { meterStanding } from './status/standing-metrics.js';
import { TrustStore, type FirstTrust } from './trust/trust-store.js';
import { trustedIdentity } from './trust/trusted-identity.js';

export interface GatewayOptions {
  /** Name of the NATS credential, and of the identity `/gateway/<name>`. */
  readonly credential: string;
  /** Of this boot, if somebody else has to know it too. */
  readonly instance?: string;
  readonly nc: NatsConnection;
  readonly rpc: RpcClient;
  readonly events: GatewayEvents;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Where its spans go; absent: nowhere. */
  readonly tracer?: Tracer | undefined;
  /** Where what goes through the doors is kept on record, of whoever owns it; absent: nowhere. */
  readonly audit?: GatewayAudit | undefined;
  /** `host:port`; port 0 takes any. */
  readonly linkListen: string;
  readonly relayListen: string;
  readonly doorListen: string;
  /** Where the CONNECT door listens; absent: there is none. */
  readonly connectListen?: string | undefined;
  readonly connectLimits?: Partial<ConnectLimits> | undefined;
  readonly kubeApiLimits?: Partial<KubeApiLimits> | undefined;
  /** Below which each cluster has a host name at the Kubernetes API door, in lower case; absent: nowhere. */
  readonly clusterDomain?: string | undefined;
  /** Addresses and blocks (CIDR) of the load balancers whose PROXY headers are believed, and without which nothing of theirs is taken; none: nobody's. */
  readonly balancers?: readonly string[];
  /** What connections out of clusters may reach; none: nothing, and no cluster is told otherwise. */
  readonly egressRules?: readonly EgressRule[];
  readonly egressLimits?: Partial<DoorLimits> | undefined;
  /** Clusters with a label of their own in metrics. */
  readonly metricsClusters?: number;
  /** Where other replicas reach relayListen; its own address if absent. */
  readonly relayAddress?: string;
  /** What people see at the doors: files, or DNS names and addresses for one by `keys`. */
  readonly doorCertificate: DoorCertificate;
  /** What Discover tells agents to dial. */
  readonly linkEndpoints: readonly string[];
  readonly zone: string;
  readonly leaseMs: number;
  /** How long the doors go on accepting once this replica is not ready any more: until a load balancer noticed. */
  readonly doorGraceMs: number;
}

/** Clusters with a label of their own in metrics, unless told otherwise. */
const NAMED_CLUSTERS = 50;

/** What a replica knows and keeps, before anything listens. */
export type GatewayState = ReturnType<typeof buildState>;

/** Waits for nothing; `identity` is who this replica is, with the roots that count now. */
export function buildState(options: GatewayOptions, certificates: GatewayCertificates) {
  const { nc, logger, zone, leaseMs, registry, tracer = noTracer, instance = randomUUID() } = options;
  const metrics = createGatewayMetrics(registry);
  const sessions = new SessionRegistry();
  const table = new RouteTable({ ownInstance: instance, zone, leaseMs });
  const routes = watchRoutes(nc, table, systemClock, logger);
  const trust = new TrustStore(nc, firstTrust(certificates), metrics, logger);
  const identity = trustedIdentity(certificates.identity, trust);
  const directory = new Directory(nc, trust, logger);
  const relayClient = new RelayClient(identity, certificates.trustDomain, directory.revocations, logger);
  const routing = { registry: sessions, table, time: routes.time, relay: relayClient };
  const opener = new TunnelOpener({ ...routing, metrics, logger, tracer });
  const pool = new TunnelPools(opener);
  const live = new LiveConnections();
  const audit = options.audit
    ? new SpooledAudit(options.audit.spool, options.audit.policy, options.audit.levels)
    : noAudit;
  meterConnections({ registry, live, sessions, directory, namedClusters: options.metricsClusters ?? NAMED_CLUSTERS });
  const replicas = {
    count: () => table.replicas(routes.time.nowMs()),
    onBeat: (listener: () => void) => table.onBeat(listener),
  };
  const isLinked = (clusterId: string): boolean =>
    sessions.of(clusterId).length > 0 || table.isHeld(clusterId, routes.time.nowMs());
  meterStanding({ registry, directory, certificates, isLinked });
  return {
    instance,
    tracer,
    certificates,
    identity,
    directory,
    sessions,
    table,
    routes,
    replicas,
    relayClient,
    opener,
    pool,
    metrics,
    live,
    audit,
  };
}

function firstTrust({ identity, trustDomain, trustVersion }: GatewayCertificates): FirstTrust {
  return { rootsPem: identity.current?.rootsPem ?? [], trustDomain, version: trustVersion };
}

/** Its ports. */
export interface GatewayServers {
  readonly link: Http2Server;
  readonly relay: Http2Server;
  readonly door: Http2SecureServer;
  readonly connect: Server | null;
}
