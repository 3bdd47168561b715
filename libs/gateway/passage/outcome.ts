import type { RequestAttributes } from '@fairlead/access-rules';
import type { TokenKind } from '@fairlead/contracts';
import type { FairleadError } from '@fairlead/errors';
import type { StreamRequest, Upgrade } from '@fairlead/kube-http';
import type { TunnelWay } from '@fairlead/tunnel/gateway';
import type { DoorName } from './door-table.js';

/** Who asks, and by what that was proved: the id of a token or the serial number of a certificate, never either itself. */
export interface Identity {
  readonly kind: 'user' | 'client' | 'agent';
  /** User name, client id or cluster id: unique within its tenant. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  readonly tenantId: string;
  readonly proof: Proof;
  /** That they are in; absent: in none. */
  readonly groups?: readonly string[] | undefined;
  /** Of a person's login. */
  readonly session?: string | undefined;
}

/** `of`: what sort of a token it is. */
export type Proof =
  | { readonly kind: 'certificate'; readonly id: string }
  | { readonly kind: 'token'; readonly id: string; readonly of: TokenKind };

/** What a decision stands on. */
export interface Grounds {
  /** Of the grants that allow it, or of one that denies it; none: it is the administrator, or nothing is granted. */
  readonly grantIds: readonly string[];
  /** The user that the cluster sees, if it is not who asks (`kubectl --as`). */
  readonly as?: string | undefined;
  /** The groups that they have there then (`kubectl --as-group`). */
  readonly asGroups?: readonly string[] | undefined;
}

/** What is asked for. Of headers only the user agent; a query only in `stream` and `uri`, and the name of an object in a cluster only there and in `attributes`. */
export interface Asked {
  /** A peer may make one up: told up to 16 characters of it. */
  readonly method: string;
  /** Kind of the path, with what it names left out. */
  readonly route?: string | undefined;
  readonly target?: { readonly host: string; readonly port: number } | undefined;
  /** The cluster's name as it was asked for, whether or not there is one. */
  readonly cluster?: string | undefined;
  /** Of the cluster of that name, if their tenant has one, whether or not they may know of it: for events alone. */
  readonly clusterId?: string | undefined;
  /** Of a request at the Kubernetes API door, if they can be read. They name objects: for the audit alone. */
  readonly attributes?: RequestAttributes | undefined;
  /** Path and query for the kube-apiserver, as `auditedUri` leaves them: for the audit alone. */
  readonly uri?: string | undefined;
  /** As the peer calls itself: for the audit alone. */
  readonly userAgent?: string | undefined;
  /** Of a request to upgrade. It names objects and commands: for events and the audit alone, which are for auditors. */
  readonly stream?: (StreamRequest & Pick<Upgrade, 'protocol'>) | undefined;
}

/** The tunnel that carries a passage, and the credential of the replica that holds the agent's link. */
export interface Way extends TunnelWay {
  readonly replica: string;
}

/**
 * How a passage ended. `answered`: by the far end, with this status, completely. `carried`: a connection that was established
 * is over, in order (COMPLETE) or by a code; `endedBy` if this replica broke it off. `failed`: refused, or broken before either.
 */
export type Ending =
  | { readonly kind: 'answered'; readonly status: number }
  | {
      readonly kind: 'carried';
      readonly cause: string;
      readonly endedBy?: FairleadError | undefined;
      readonly status?: number | undefined;
    }
  | {
      readonly kind: 'failed';
      readonly failure: FairleadError;
      readonly status: number;
      /** Who failed: this replica until it has let the passage go on, then whoever is beyond it. */
      readonly hop: 'gateway' | 'agent' | 'target';
    };

/** Of a passage that was refused, or broken before it was carried. */
export type Failed = Extract<Ending, { readonly kind: 'failed' }>;

/**
 * All that is known of one passage when it is over. Log, metrics, span, events and audit are made of it and of nothing else, by
 * `OutcomeRecorder`. It has no secret, no header and no payload.
 */
export interface Outcome {
  readonly door: DoorName;
  /** Unique, other than the trace, which is the caller's to choose. */
  readonly requestId: string;
  readonly traceId: string;
  /** Credential of the replica that the peer came to. */
  readonly ingress: string;
  readonly address: string;
  /** Absent as long as nobody has proved who asks. */
  readonly identity?: Identity | undefined;
  readonly tenantId?: string | undefined;
  /** Absent where no grants are looked at. */
  readonly grounds?: Grounds | undefined;
  /** Absent as long as the door has not let it in. */
  readonly cluster?: { readonly clusterId: string; readonly name: string } | undefined;
  readonly asked: Asked;
  readonly way?: Way | undefined;
  /** Where a connection out of a cluster was dialled to. */
  readonly dialled?: string | undefined;
  /** Of the gateway: has it let this go on? What is allowed may still be refused by the agent, or fail: `ending` says so. */
  readonly decision: 'allowed' | 'refused';
  /** It was about to be let go on, and may change something there: that has a record of its own. */
  readonly intended: boolean;
  readonly ending: Ending;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** Both ends switched to another protocol. */
  readonly established: boolean;
  /** Who asked has had what it asked for: its target, or the beginning of an answer. */
  readonly connected: boolean;
  /** Who asked went away before that. */
  readonly peerLeft: boolean;
  /** From the beginning until the target was there. */
  readonly openMs?: number | undefined;
  readonly durationMs: number;
}

/** Refusals that an auditor wants to see; the others are faults. */
const REFUSED_STATUS: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/** Does this say that somebody may not, rather than that something could not? */
export function isRefusal({ kind }: FairleadError): boolean {
  return REFUSED_STATUS.has(kind.http);
}

/** Why it is over: COMPLETE, or the code of what refused or broke it. */
export function causeOf(ending: Ending): string {
  if (ending.kind === 'failed') return ending.failure.code;
  return ending.kind === 'carried' ? (ending.endedBy?.code ?? ending.cause) : 'COMPLETE';
}

/** The cluster that it was let in to, or whose agent asked. */
export function clusterIdOf({ cluster, identity }: Outcome): string | undefined {
  return cluster?.clusterId ?? (identity?.kind === 'agent' ? identity.id : undefined);
}
