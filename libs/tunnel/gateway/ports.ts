import type { PeerCertificate } from '@fairlead/pki';
import type { Counted, Followed, Level } from '../core/index.js';

/** A private key with the certificates for it. */
export interface TlsIdentity {
  readonly keyPem: string;
  /** Leaf first. */
  readonly chainPem: readonly string[];
  /** Roots this identity's issuer says to trust. */
  readonly rootsPem: readonly string[];
  /** Version of the trust bundle when it was issued; absent: not known. */
  readonly trustVersion?: number;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A certificate of this replica that somebody else obtains and renews. */
export interface CertificateSource {
  /** Null until there is one. */
  readonly current: TlsIdentity | null;
  /** Calls back with each new identity, and at once with the present one. */
  onChange(listener: (identity: TlsIdentity) => void): void;
}

/** Which certificates are worth nothing any more. */
export interface RevokedCertificates {
  has(certificate: PeerCertificate): boolean;
  /** Calls back after each revocation. */
  onChange(listener: () => void): void;
}

/** Hears of replicas that were turned away. It must not block and must not throw. */
export interface RelayEvents {
  accessRefused(refusal: {
    readonly code: string;
    readonly reason: string;
    readonly address: string;
    readonly door: 'relay';
  }): void;
}

/** What the data path tells of tunnels that are looked for, at the replica with the client. */
export interface OpenerMetrics {
  readonly tunnels: Counted<'via' | 'outcome'>;
  readonly relayedTunnels: Counted<'direction'>;
  readonly pendingOpens: Level;
  readonly openSeconds: { observe(labels: Readonly<Record<'target' | 'via', string>>, seconds: number): void };
}

/** What it tells of tunnels that are spliced for other replicas. */
export interface RelayMetrics {
  readonly relayedTunnels: Counted<'direction'>;
  readonly relayedBytes: Followed;
  readonly relayedOpen: Level;
}

/** What it tells of sessions that were ended for what their peer did. */
export interface AbuseMetrics {
  readonly http2Abuse: Counted<'door' | 'reason'>;
}
