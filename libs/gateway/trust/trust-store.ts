import { BUCKETS, TRUST_KEY, TrustEntry } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { watchBucket, type KvSnapshot } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { openTrust, type SignedTrust, type TrustedRoots } from '@fairlead/pki';
import type { NatsConnection } from '@nats-io/transport-node';
import type { GatewayMetrics } from '../status/gateway-metrics.js';

/** A bundle that was verified, and as it came: so it goes on to agents. */
export interface HeldTrust extends TrustedRoots {
  readonly signed: SignedTrust;
}

/** What a replica trusts before it has seen any bundle: what came with its own certificate. */
export interface FirstTrust {
  readonly rootsPem: readonly string[];
  readonly trustDomain: string;
  /** Of the bundle at that time: a lower one was written by somebody who kept it. Absent: not known. */
  readonly version?: number;
}

/** How long until a bundle that could not be verified is looked at again: a clock may have been wrong. */
const AGAIN_MS = 10_000;

/**
 * Which roots count, as this replica knows it: the bundle of the highest version that `keys` signed, verified by what was
 * trusted before. One that is refused, and a bucket that loses it, change nothing.
 */
export class TrustStore {
  readonly snapshot: KvSnapshot<TrustEntry>;
  readonly #first: FirstTrust;
  readonly #metrics: Pick<GatewayMetrics, 'trustVersion' | 'trustRefused'>;
  readonly #logger: Logger;
  readonly #listeners = new Set<() => void>();
  #held: HeldTrust | null = null;
  /** Seen in the bucket and not opened yet; a newer one takes its place. */
  #seen: TrustEntry | null = null;
  #opening = false;
  /** Refused last: it is complained of once. */
  #refused: TrustEntry | null = null;

  constructor(
    nc: NatsConnection,
    first: FirstTrust,
    metrics: Pick<GatewayMetrics, 'trustVersion' | 'trustRefused'>,
    logger: Logger,
  ) {
    this.#first = first;
    this.#metrics = metrics;
    this.#logger = logger;
    this.snapshot = watchBucket(nc, BUCKETS.trust, TrustEntry, {
      logger,
      onChange: (key, entry) => {
        if (key === TRUST_KEY && entry) this.#consider(entry);
      },
    });
  }

  /** Was there ever a bundle that this replica could verify? */
  get loaded(): boolean {
    return this.#held !== null;
  }

  get held(): HeldTrust | null {
    return this.#held;
  }

  /** 0: none yet. */
  get version(): number {
    return this.#held?.version ?? 0;
  }

  get #least(): number {
    return Math.max(this.version, this.#first.version ?? 0);
  }

  /** What agents, clients and other replicas are verified by. The active root comes first. */
  get rootsPem(): readonly string[] {
    return this.#held?.rootsPem ?? this.#first.rootsPem;
  }

  /** Calls back after each change of the roots. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #consider(entry: TrustEntry): void {
    this.#seen = entry;
    if (!this.#opening) void this.#openSeen();
  }

  async #openSeen(): Promise<void> {
    this.#opening = true;
    for (let entry = this.#seen; entry; entry = this.#seen) {
      this.#seen = null;
      await this.#open(entry);
    }
    this.#opening = false;
  }

  async #open(entry: TrustEntry): Promise<void> {
    const signed = fromContract(entry);
    try {
      const { trustDomain } = this.#first;
      const roots = await openTrust(signed, { rootsPem: this.rootsPem, trustDomain, at: new Date() });
      this.#take({ ...roots, signed }, entry);
    } catch (error) {
      this.#refuse(entry, 'invalid', messageOf(error));
      setTimeout(() => {
        if (this.snapshot.get(TRUST_KEY) === entry && this.#seen === null) this.#consider(entry);
      }, AGAIN_MS).unref();
    }
  }

  #take(next: HeldTrust, entry: TrustEntry): void {
    const { version } = this;
    const least = this.#least;
    if (next.version < least) {
      this.#refuse(
        entry,
        'older',
        `version ${next.version} is older than ${least}, which this replica holds or began with`,
      );
    } else if (next.version === version && !sameRoots(next.rootsPem, this.rootsPem)) {
      this.#refuse(entry, 'conflicting', `it has other roots than the version ${version} that this replica holds`);
    } else {
      this.#held = next;
      this.#refused = null;
      // The same roots, signed anew: nobody has to be told.
      if (next.version === version) return;
      this.#metrics.trustVersion.set(next.version);
      this.#logger.info('trust.changed', { version: next.version, roots: next.rootsPem.length });
      for (const listener of this.#listeners) listener();
    }
  }

  #refuse(entry: TrustEntry, outcome: 'invalid' | 'older' | 'conflicting', reason: string): void {
    if (this.#refused === entry) return;
    this.#refused = entry;
    this.#metrics.trustRefused.inc({ reason: outcome });
    this.#logger.error('trust.refused', { outcome, reason, held: this.version });
  }
}

function fromContract({ bundle, signerChain, signature }: TrustEntry): SignedTrust {
  return {
    bundle: new Uint8Array(Buffer.from(bundle, 'base64')),
    signerChainPem: signerChain,
    signature: new Uint8Array(Buffer.from(signature, 'base64')),
  };
}

function sameRoots(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((pem, index) => pem === others[index]);
}
