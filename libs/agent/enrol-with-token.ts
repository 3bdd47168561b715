import { FairleadError } from '@fairlead/errors';
import type { Logger, Registry, Tracer } from '@fairlead/observability';
import type { TcpTargetOptions } from '@fairlead/tcp-targets';
import type { AgentIdentity, IdentityStore } from './agent-identity.js';
import type { EgressListenerOptions } from './egress/egress-listener.js';
import { feedOf, type FactsSource } from './facts/feed.js';
import type { Endpoint, ProxySettings } from './forward-proxy.js';
import type { LeaderLease } from './gitops/leader.js';
import type { HandoverMaps } from './gitops/ports.js';
import type { KubeApiTarget } from './kube-api-proxy.js';
import { BECOME_OWN, mayLeave, whyNotOwn } from './own-cluster.js';

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

/**
 * Spends the token that the agent was given, or asks to be adopted. UNAUTHENTICATED if it may do neither; otherwise as `enrol`. `foreign`: the
 * stored identity, of another cluster than the manifest's; it is replaced when the enrolment succeeds, and not before.
 */
export async function enrolWithToken(
  options: AgentOptions,
  attempt: number,
  signal: AbortSignal,
  foreign: AgentIdentity | null = null,
): Promise<AgentIdentity> {
  const token = await options.token();
  if (foreign) assertMayLeave(options, foreign, token);
  if (token === null && !options.adoption) {
    throw new FairleadError(
      'UNAUTHENTICATED',
      'there is neither an identity nor a bootstrap token; import the cluster again: fairlead cluster import <name>',
    );
  }
  // Each try takes the next endpoint, so that one dead replica does not hold up an enrolment.
  const endpoint = options.endpoints[attempt % options.endpoints.length] as Endpoint;
  // What makes keys and requests for certificates is loaded when it is needed: most starts have an identity.
  const { enrol } = await import('./enrol.js');
  return enrol({ ...options, facts: await feedOf(options.facts).current(), endpoint, token, signal });
}

function assertMayLeave(
  { adoption = false, clusterId, logger }: AgentOptions,
  foreign: AgentIdentity,
  token: string | null,
): void {
  const reason = whyNotOwn(foreign, clusterId);
  if (!mayLeave(foreign, token, adoption)) throw new FairleadError('UNAUTHENTICATED', `${reason}; ${BECOME_OWN}`);
  logger.warn('agent.identity.of_another_cluster', {
    stored: foreign.clusterId,
    clusterId,
    next: 'enrolling as the cluster of the manifest',
  });
}
