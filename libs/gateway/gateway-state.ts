import type { Http2SecureServer } from 'node:http2';
import type { Server } from 'node:net';
import type { Http2Server } from '@fairlead/http2';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger, Registry, Tracer } from '@fairlead/observability';
import type {
  CertificateSource,
  RelayClient,
  RouteTable,
  RouteWatcher,
  SessionRegistry,
  TunnelOpener,
} from '@fairlead/tunnel/gateway';
import type { NatsConnection } from '@nats-io/transport-node';
import type { ConnectLimits } from './doors/connect/connect-context.js';
import type { Directory } from './directory.js';
import type { DoorLimits } from './limits/door-limiter.js';
import type { KubeApiLimits } from './doors/kube-api/door.js';
import type { EgressRule } from './doors/egress/egress-rules.js';
import type { DoorCertificate, GatewayCertificates } from './certificates/gateway-certificates.js';
import type { GatewayEvents } from './reporting/gateway-events.js';
import type { GatewayMetrics } from './status/gateway-metrics.js';
import type { TunnelPool } from './doors/kube-api/tunnel-pool.js';
import type { LiveConnections } from './passage/live-connections.js';

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

/** What a replica knows and keeps, before anything listens. */
export interface GatewayState {
  readonly instance: string;
  readonly certificates: GatewayCertificates;
  /** Who this replica is, with the roots that count now. */
  readonly identity: CertificateSource;
  readonly directory: Directory;
  readonly sessions: SessionRegistry;
  readonly table: RouteTable;
  readonly routes: RouteWatcher;
  readonly relayClient: RelayClient;
  readonly opener: TunnelOpener;
  readonly pool: TunnelPool;
  readonly metrics: GatewayMetrics;
  readonly live: LiveConnections;
}

/** Its ports. */
export interface GatewayServers {
  readonly link: Http2Server;
  readonly relay: Http2Server;
  readonly door: Http2SecureServer;
  readonly connect: Server | null;
}
