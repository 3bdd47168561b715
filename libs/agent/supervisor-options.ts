import type { SignedTime } from '@fairlead/access-statement/signed-time';
import type { Clock } from '@fairlead/clock';
import type { Logger } from '@fairlead/observability';
import type { KubeApiEnd, TcpTunnelOptions } from '@fairlead/tunnel/agent';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';
import type { FactsSource } from './facts/feed.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import type { GitOpsCarrier } from './gitops/gitops-carrier.js';

/** What links are kept by. */
export interface SupervisorOptions {
  readonly identity: AgentIdentity;
  readonly store: IdentityStore;
  /** Of the import manifest: where it begins, and what it dials last once it was told of others. */
  readonly endpoints: readonly Endpoint[];
  /** Where it is; absent: where its nodes say that they are. */
  readonly region?: string | undefined;
  readonly proxy: ProxySettings;
  /** Links to keep, each to another replica. */
  readonly links: number;
  readonly facts: FactsSource;
  readonly kubeApi: KubeApiEnd;
  readonly tcp: TcpTunnelOptions;
  /** By which access statements end; default the clock's. */
  readonly time?: SignedTime | undefined;
  /** Nobody is served without an access statement; default false. */
  readonly requireStatements?: boolean | undefined;
  /** Absent: it carries nothing. */
  readonly gitops?: GitOpsCarrier | undefined;
  readonly logger: Logger;
  /** Called when a gateway will not have this identity, or is not of its installation, while no link stands. */
  readonly onRefused?: () => void;
  readonly clock?: Clock;
}
