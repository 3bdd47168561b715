import type { Asked } from '../passage/outcome.js';
import type { DoorName } from '../passage/door-table.js';

export interface SessionEvent {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly sessionId: string;
  readonly generation: number;
  /** Events of the same cluster that were not told before this one, because there were too many. */
  readonly suppressed?: number;
}

/** A request, link or relay that was turned away. */
export interface Refusal {
  readonly code: string;
  readonly reason: string;
  readonly address: string;
  readonly door: DoorName | 'link' | 'relay';
  readonly tenantId?: string | undefined;
  readonly clusterId?: string | undefined;
  /** The name that was asked for, whether or not there is such a cluster. */
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly method?: string | undefined;
  /** Of the grants that it was decided by. */
  readonly grantIds?: readonly string[] | undefined;
  /** Refusals that were not told before this one, because there were too many. */
  readonly suppressed?: number;
}

/** A stream into a cluster (exec, attach, port-forward), when it is opened, refused, or over. Each is told; of those that one user is refused at the door, some. */
export interface StreamEvent {
  readonly phase: 'opened' | 'refused' | 'ended';
  /** The same in all that is told of one. */
  readonly streamId: string;
  readonly tenantId: string;
  readonly clusterId: string;
  readonly user: string;
  readonly address: string;
  readonly stream: NonNullable<Asked['stream']>;
  /** Of the grants that it was decided by; none: the administrator's. */
  readonly grantIds: readonly string[];
  /** The user that the cluster sees, if it is not `user`; empty: it is. */
  readonly as: string;
  /** The groups that they have there then, all of them. */
  readonly asGroups: readonly string[];
  /** OK, COMPLETE, a code, or `HTTP_403` for what the cluster answered. */
  readonly reason: string;
  /** As the user saw it. */
  readonly status: number;
  /** It was turned away by this replica, before it was let on. */
  readonly atDoor: boolean;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly durationMs: number;
}

/** Somebody came to a door with the administrator's token. */
export interface AdministratorUse {
  readonly tenantId: string;
  readonly user: string;
  readonly tokenId: string;
  readonly address: string;
  readonly door: DoorName;
  /** The name that was asked for, whether or not there is such a cluster. */
  readonly cluster?: string | undefined;
  readonly method: string;
  /** Uses of the same token that were not told before this one. */
  readonly suppressed: number;
}

/** What a replica reports as events. It must not block and must not throw. */
export interface GatewayEvents {
  agentConnected(session: SessionEvent): void;
  agentDisconnected(session: SessionEvent & { readonly durationMs: number }): void;
  accessRefused(refusal: Refusal): void;
  stream(event: StreamEvent): void;
  administratorUsed(use: AdministratorUse): void;
}
