import { BUCKETS, RevocationEntry, revocationKeys } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { PeerCertificate } from '@fairlead/pki';
import type { NatsConnection } from '@nats-io/transport-node';

/**
 * Which certificates are worth nothing, as this replica knows it. What it has heard once it does not forget before the
 * entry's end, long after the certificate's own, whatever happens to the bucket: revoking cannot be undone.
 */
export class Revocations {
  readonly snapshot: KvSnapshot<RevocationEntry>;
  /** Until when each revoked certificate is known, milliseconds since the epoch, by serial number. */
  readonly #certificates = new Map<string, number>();
  /** The last revoked generation, by cluster. */
  readonly #generations = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  /** Revocations that are in the bucket now, by key. */
  readonly #present = new Set<string>();
  #whole = false;

  constructor(nc: NatsConnection, logger: Logger) {
    this.snapshot = watchBucket(nc, BUCKETS.revocations, RevocationEntry, {
      logger,
      onChange: (key, entry) => this.#learn(key, entry),
    });
  }

  /** Was all there once that `keys` said there is? A bucket that was never filled, or lost its data before, admits nobody. */
  get loaded(): boolean {
    if (this.#whole) return true;
    const state = this.snapshot.get(revocationKeys.state);
    this.#whole = this.snapshot.isLoaded && state?.kind === 'state' && this.#present.size >= state.count;
    return this.#whole;
  }

  /** Calls back after each revocation. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  has({ id, generation, serial }: PeerCertificate): boolean {
    if (this.#certificates.has(serial)) return true;
    return id.kind === 'agent' && generation <= (this.#generations.get(id.clusterId) ?? -1);
  }

  /** CERTIFICATE_REVOKED if it is. */
  assertNone(certificate: PeerCertificate): void {
    if (this.has(certificate)) throw revoked();
  }

  #learn(key: string, entry: RevocationEntry | undefined): void {
    if (entry?.kind === 'state') return;
    if (!entry) {
      // It has expired, or the bucket lost it.
      this.#present.delete(key);
      return;
    }
    this.#present.add(key);
    if (entry.kind === 'certificate') this.#certificates.set(entry.serial, Date.parse(entry.notAfter));
    else this.#raise(entry.clusterId, entry.throughGeneration);
    this.#forgetExpired();
    for (const listener of this.#listeners) listener();
  }

  #raise(clusterId: string, generation: number): void {
    this.#generations.set(clusterId, Math.max(generation, this.#generations.get(clusterId) ?? -1));
  }

  #forgetExpired(): void {
    const now = Date.now();
    for (const [serial, endsMs] of this.#certificates) if (endsMs < now) this.#certificates.delete(serial);
  }
}

/** What its holder is told. */
export function revoked(): FairleadError {
  return new FairleadError(
    'CERTIFICATE_REVOKED',
    'this certificate was revoked; a cluster comes back with a new manifest: fairlead cluster import <name>',
  );
}
