import type {
  AuditSettings,
  ConnectLimits,
  DoorLimits,
  GatewayEvents,
  GatewayOptions,
  KubeApiLimits,
} from '@fairlead/gateway';
import type { Logger, Tracer } from '@fairlead/observability';

export interface ReplicaOptions {
  readonly connectLimits?: Partial<ConnectLimits>;
  readonly kubeApiLimits?: Partial<KubeApiLimits>;
  /** Default none: clusters are told by the path. */
  readonly clusterDomain?: string;
  /** Rules for connections out of clusters; default none. */
  readonly allowEgress?: readonly string[];
  readonly egressLimits?: Partial<DoorLimits>;
  readonly metricsClusters?: number;
  readonly logger?: Logger;
  readonly tracer?: Tracer;
  /** What it reports to, besides `refusals`; default nobody. */
  readonly events?: (nc: GatewayOptions['nc'], gateway: string) => GatewayEvents;
  /** The doors' certificate; default one by the CA for 127.0.0.1, and for host names below the cluster domain. */
  readonly doorFiles?: { readonly certFile: string; readonly keyFile: string };
  /** Where it keeps its audit; default nowhere. */
  readonly audit?: Omit<AuditSettings, 'replica'>;
  /** Default 0: no balancer is in front of it. */
  readonly doorGraceMs?: number;
}
