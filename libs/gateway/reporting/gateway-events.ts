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
  /** Refusals that were not told before this one, because there were too many. */
  readonly suppressed?: number;
}

/** What a replica reports as events. It must not block and must not throw. */
export interface GatewayEvents {
  agentConnected(session: SessionEvent): void;
  agentDisconnected(session: SessionEvent & { readonly durationMs: number }): void;
  accessRefused(refusal: Refusal): void;
}
