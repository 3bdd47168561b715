import type { TLSSocket } from 'node:tls';
import type { Logger } from '@fairlead/observability';
import type { Directory } from '../directory.js';
import type { GatewayEvents } from '../gateway-events.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import type { RenewingCertificate } from '../renewing-certificate.js';
import type { TunnelOpener } from '../tunnel-opener.js';
import type { ConnectLimits, ConnectionLimiter } from './connection-limits.js';

export interface ConnectDoorOptions {
  /** What clients see. */
  readonly serving: RenewingCertificate;
  /** Its roots are those of the clients' certificates. */
  readonly identity: RenewingCertificate;
  readonly trustDomain: string;
  readonly directory: Directory;
  readonly opener: TunnelOpener;
  readonly events: GatewayEvents;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
  readonly limits?: ConnectLimits | undefined;
}

/** What one connection needs of its door. */
export interface ConnectContext extends Omit<ConnectDoorOptions, 'limits' | 'serving' | 'identity'> {
  readonly limiter: ConnectionLimiter;
  readonly halfClosedStallMs: number;
  /** Breaks a connection off so that its client sees an error and not an end. */
  reset(socket: TLSSocket): void;
}
