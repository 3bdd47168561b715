import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { CertificateSource, TunnelOpener } from '@fairlead/tunnel/gateway';
import type { Directory } from '../../directory.js';
import type { ConnectionShares } from '../../limits/connection-shares.js';
import { DEFAULT_DOOR_LIMITS, type DoorLimits } from '../../limits/door-limiter.js';
import type { DoorPassages, PassageOptions } from '../../passage/door-passages.js';

export interface ConnectLimits extends DoorLimits {
  /** How long a client that ended its direction may take nothing before it is held to be gone. */
  readonly halfClosedStallMs: number;
  /** How long a client may take for its handshake, and then for the head of its request. */
  readonly headersTimeoutMs: number;
}

export const DEFAULT_CONNECT_LIMITS: ConnectLimits = {
  ...DEFAULT_DOOR_LIMITS,
  halfClosedStallMs: 120_000,
  headersTimeoutMs: 10_000,
};

export interface ConnectDoorOptions extends PassageOptions {
  /** What clients see. */
  readonly serving: CertificateSource;
  /** Its roots are those of the clients' certificates. */
  readonly identity: CertificateSource;
  readonly trustDomain: string;
  readonly directory: Directory;
  readonly opener: TunnelOpener;
  readonly limits?: Partial<ConnectLimits> | undefined;
}

/** What one connection needs of its door. */
export interface ConnectContext extends Pick<ConnectDoorOptions, 'trustDomain' | 'directory' | 'opener' | 'logger'> {
  readonly passages: DoorPassages;
  readonly halfClosedStallMs: number;
  readonly headersTimeoutMs: number;
  readonly connections: ConnectionShares;
  /** The TCP socket below. */
  plainOf(socket: TLSSocket): Socket | undefined;
  /** Breaks a connection off so that its client sees an error and not an end. */
  reset(socket: TLSSocket): void;
}
