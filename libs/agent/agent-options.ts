import type { Logger, Registry, Tracer } from '@fairlead/observability';
import type { TcpTargetOptions } from '@fairlead/tcp-targets';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';
import type { EgressListenerOptions } from './egress/egress-listener.js';
import type { FactsSource } from './facts/feed.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import type { LeaderLease } from './gitops/leader.js';
import type { HandoverMaps } from './gitops/ports.js';
import type { KubeApiTarget } from './kube-api-proxy.js';

/** What an agent is started with. */
export interface AgentOptions {
  readonly endpoints: readonly Endpoint[];
  /** Where the agent is, to choose among endpoints; absent: where its nodes say that they are. */
  readonly region?: string | undefined;
  readonly proxy: ProxySettings;
  readonly pins: readonly string[];
  /** Of the installation, from the import manifest: the only one it enrols with. Absent: that of whoever proves a pinned root. */
  readonly trustDomain?: string | undefined;
  /** Which cluster it is, from the import manifest: it enrols and goes on as no other one. Absent: as what the control plane says. */
  readonly clusterId?: string | undefined;
  readonly links: number;
  /** How long what runs through it may go on once it is told to end; default 0. */
  readonly drainMs?: number;
  readonly store: IdentityStore;
  /** Without a token, ask to be adopted, and wait for an administrator. Needs pins. */
  readonly adoption?: boolean;
  /** The bootstrap token, or null if none was given. Read only while there is no identity that works. */
  token(): Promise<string | null>;
  readonly kubeApi: KubeApiTarget;
  /** Nobody is served there without an access statement; default false. */
  readonly requireStatements?: boolean | undefined;
  /** What it opens for raw TCP; absent: nothing. */
  readonly tcp?: Omit<TcpTargetOptions, 'refusedBy'>;
  /** Where it listens for connections out of the cluster; absent: nowhere. */
  readonly egress?: Pick<EgressListenerOptions, 'ports' | 'host'> & {
    /** Called with the ports once they are bound. */
    readonly onListening?: (ports: readonly number[]) => void;
  };
  /** Where it hands over what is desired of the cluster; absent: nowhere. */
  readonly handover?:
    | {
        readonly maps: HandoverMaps;
        readonly observeMs?: number;
        /** By which its pods agree who of them does; absent: it is the only one. */
        readonly lease?: LeaderLease;
      }
    | undefined;
  /** Where its metrics go; absent: nowhere. */
  readonly registry?: Registry;
  /** Where its spans go; absent: nowhere. */
  readonly tracer?: Tracer;
  /** Called with each identity it takes up: which cluster it is in. */
  readonly onIdentity?: (identity: AgentIdentity) => void;
  /** May take a while: they are asked for beside the dial, and waited for before they are told. */
  readonly facts: FactsSource;
  readonly logger: Logger;
}
