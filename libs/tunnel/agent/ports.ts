import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client } from '@connectrpc/connect';
import type { Http2Session, Http2Stream } from '@fairlead/http2';
import type { VerifiedStatement } from '@fairlead/access-statement';
import type { TunnelIdentity } from '@fairlead/kube-http';
import type { AgentLinkService, SignedDesiredState, SignedRevocations, SignedTrust, Tcp, Facts } from '@fairlead/proto';
import type { Counted, Followed, Level } from '../core/index.js';

/** One HTTP/2 session to a gateway: ordinary calls through ConnectRPC, tunnels straight on its streams. */
export interface GatewayConnection extends Disposable {
  readonly rpc: Client<typeof AgentLinkService>;
  readonly http2: Http2Session;
  /** Begins a Tunnel call. */
  tunnel(): Http2Stream;
  /** Begins an Egress call. */
  egress(): Http2Stream;
}

/** What an agent says of itself and of its cluster: in its Hello, and when it changes. What is not known is left out. */
export interface AgentFacts {
  readonly agentVersion: string;
  readonly kubernetesVersion: string;
  readonly platform: string;
  /** Whose Kubernetes it is; empty: not known. */
  readonly distribution?: string;
  /** Whose machines the nodes are; empty: not known. */
  readonly provider?: string;
  /** Where its nodes say that they are; not told to the gateway. */
  readonly region?: string;
  readonly nodes?: { readonly total: number; readonly ready: number };
  /** What the agent may do there, and what it can do on the link. */
  readonly capabilities?: readonly string[];
  /** Where this process runs; absent: not in a pod, or it may not look. */
  readonly pod?: AgentPod;
}

/** As `AgentPod` of the link. */
export interface AgentPod {
  readonly clusterUid: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly replicas: number;
}

/** Which roots the agent trusts. What a gateway says of them is judged behind it. */
export interface TrustEnd {
  /** Version of the bundle that it holds; 0: none. */
  readonly version: number;
  /** Resolves, once it is stored, with the version to say that we hold; null: nothing to say. Never rejects. */
  take(trust: SignedTrust): Promise<number | null>;
}

/** Where what is desired of the cluster goes, unread. */
export interface DesiredStateEnd {
  /** Of what it has; 0: nothing, or it wants to be told again. */
  readonly revision: number;
  /** Takes it, and hands it on when it can. Never throws. */
  take(state: SignedDesiredState): void;
}

/** Which access statements are worth nothing any more. What a gateway says of it is judged behind it. */
export interface RevocationsEnd {
  /** Of the list that it goes by; 0: none. */
  readonly number: number;
  /** Resolves once the next one may come. Never rejects: what is not signed, or earlier, changes nothing. */
  take(list: SignedRevocations): Promise<void>;
}

/** A statement that was verified, and what becomes of it. */
export interface ShownStatement extends VerifiedStatement {
  /** Why it is worth nothing any more; null: it counts. */
  whyRevoked(): string | null;
  /** Calls back whenever more was revoked, until the result is called. */
  onRevocations(listener: () => void): () => void;
}

/** What people show, signed, of what they may do here: a gateway only carries it. */
export interface StatementEnd {
  /** Nobody is served without one. */
  readonly required: boolean;
  /** Calls back when that may have become so, until the result is called. */
  onRequired(listener: () => void): () => void;
  /** Rejects with STATEMENT_REFUSED, STATEMENT_EXPIRED or STATEMENT_REVOKED. */
  open(envelope: Uint8Array, cluster: { readonly clusterId: string }): Promise<ShownStatement>;
}

/** Where tunnels to the cluster's kube-apiserver end. */
export interface KubeApiEnd {
  /**
   * Serves HTTP/1.1 on an accepted tunnel, as this identity; `leaving`: the answer that begins now is to be the last one. With a statement, no request is
   * served that it does not hold, and the tunnel ends when it says, or when it is revoked.
   */
  serve(tunnel: Duplex, identity: TunnelIdentity, leaving?: () => boolean, statement?: ShownStatement): void;
}

/** Opens raw TCP targets, or does not: the policy is behind it. */
export interface TcpDialler {
  /** Resolves with a connected socket. Rejects with what the opener is to be told, or the signal's reason. */
  connect(target: Pick<Tcp, 'host' | 'port'>, signal: AbortSignal): Promise<Socket>;
}

/** What the data path tells of raw TCP connections. */
export interface TcpMetrics {
  readonly connections: Counted<'outcome'>;
  readonly openConnections: Level;
  readonly pendingDials: Level;
  readonly dialSeconds: { startTimer(): () => unknown };
  readonly bytes: Followed;
}

/** As a message of the link. */
export function wireFacts(facts: AgentFacts): Facts {
  const {
    agentVersion,
    kubernetesVersion,
    platform,
    distribution = '',
    provider = '',
    nodes,
    pod,
    capabilities = [],
  } = facts;
  return {
    $typeName: 'fairlead.link.v1.Facts',
    agentVersion,
    kubernetesVersion,
    platform,
    distribution,
    provider,
    capabilities: [...capabilities],
    ...(nodes && { nodes: { $typeName: 'fairlead.link.v1.NodeCount', ...nodes } }),
    ...(pod && { pod: { $typeName: 'fairlead.link.v1.AgentPod', ...pod } }),
  };
}
