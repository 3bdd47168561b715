import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { fullJitterMs, type Clock } from '@fairlead/clock';
import { FairleadError, messageOf, toFairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { SignedTrust, TrustedRoots } from '@fairlead/pki';
import type { TrustEnd } from '@fairlead/tunnel/agent';
import type { AgentIdentity } from './agent-identity.js';
import type { HeldIdentity } from './held-identity.js';
import { afterBundle } from './known-endpoints.js';
import { highestFor, trustSince } from './trust-pace.js';

/** How long a link waits after a bundle that was refused or passed over: who sends many costs no more than this many. */
const REFUSAL_PAUSE_MS = 1_000;
/** Such bundles that are remembered, and in what time one more is told of. */
const MAX_REMEMBERED = 16;
const COMPLAINT_MS = 60_000;
const STORE_RETRY = { baseMs: 1_000, capMs: 60_000 };

/**
 * The identity with these roots; the very same one, unless they are newer than its own. They were looked at when they came, and are
 * again here: another bundle may have been taken in between.
 */
export function withRoots(identity: AgentIdentity, trust: TrustedRoots, signed: SignedTrust): AgentIdentity {
  const { version, rootsPem, revokedGateways = [] } = trust;
  if (version <= identity.trustVersion || version > highestFor(identity)) return identity;
  return {
    ...identity,
    rootsPem: [...rootsPem],
    trustVersion: version,
    trustSince: trustSince(identity, version),
    revokedGateways: [...revokedGateways],
    fencedGateways: [...(trust.fencedGateways ?? [])],
    signedTrust: storedTrust(signed),
    ...afterBundle(identity, trust),
  };
}

/** As it is stored. */
export function storedTrust({ bundle, signerChainPem, signature }: SignedTrust) {
  return {
    document: Buffer.from(bundle).toString('base64'),
    signerChain: [...signerChainPem],
    signature: Buffer.from(signature).toString('base64'),
  };
}

/** Judges what gateways say of roots: only what `keys` signed counts, and never an older version. */
export class AgentTrust implements TrustEnd {
  readonly #identity: HeldIdentity;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #refused = new Set<string>();
  #complainedMs = Number.NEGATIVE_INFINITY;

  constructor(identity: HeldIdentity, logger: Logger, clock: Clock) {
    this.#identity = identity;
    this.#logger = logger;
    this.#clock = clock;
  }

  get version(): number {
    return this.#identity.current.trustVersion;
  }

  async take(signed: SignedTrust): Promise<number | null> {
    const roots = await this.#open(signed);
    if (!roots) return null;
    for (let attempt = 0; !this.#identity.over.aborted; attempt += 1) {
      try {
        return await this.#hold(roots, signed);
      } catch (error) {
        const { code, message } = toFairleadError(error);
        this.#logger.warn('trust.not_stored', { attempt, version: roots.version, code, reason: message });
        await this.#pause(fullJitterMs(attempt, STORE_RETRY));
      }
    }
    return null;
  }

  async #open(signed: SignedTrust): Promise<TrustedRoots | null> {
    try {
      // The library that reads every extension is loaded when it is needed: an agent that starts is waited for.
      const { openSignedTrust, toldVersion } = await import('./open-signed-trust.js');
      const { current } = this.#identity;
      const version = toldVersion(signed);
      if (version < current.trustVersion) return await this.#passOver(signed, version);
      const roots = await openSignedTrust(signed, { ...current, highest: highestFor(current) });
      assertSame(roots, current);
      return roots;
    } catch (error) {
      this.#complain(signed, error);
      await this.#pause(REFUSAL_PAUSE_MS);
      return null;
    }
  }

  /** The version, if it is the one that is held now; null for one that is older. */
  async #hold(roots: TrustedRoots, signed: SignedTrust): Promise<number | null> {
    const before = this.version;
    const { trustVersion } = await this.#identity.change((identity) => withRoots(identity, roots, signed));
    if (trustVersion > before) {
      const { rootsPem, endpoints } = this.#identity.current;
      this.#logger.info('trust.changed', {
        version: trustVersion,
        roots: rootsPem.length,
        endpoints: endpoints?.length,
      });
    }
    return trustVersion === roots.version ? trustVersion : null;
  }

  #pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#identity.over).catch(() => undefined);
  }

  /** An older one changes nothing, whoever signed it: of two replicas one may hear later than the other. */
  async #passOver(signed: SignedTrust, version: number): Promise<null> {
    if (this.#isNews(signed)) this.#logger.info('trust.older', { version, held: this.version });
    await this.#pause(REFUSAL_PAUSE_MS);
    return null;
  }

  #complain(signed: SignedTrust, error: unknown): void {
    if (!this.#isNews(signed)) return;
    const { code } = toFairleadError(error);
    this.#logger.error('trust.refused', { code, reason: messageOf(error), held: this.version });
  }

  /** Once of each, and of many that differ once a minute. */
  #isNews({ bundle, signature }: SignedTrust): boolean {
    const digest = createHash('sha256').update(bundle).update(signature).digest('base64');
    const nowMs = this.#clock.monotonicMs();
    if (this.#refused.has(digest) || nowMs - this.#complainedMs < COMPLAINT_MS) return false;
    if (this.#refused.size >= MAX_REMEMBERED) this.#refused.clear();
    this.#refused.add(digest);
    this.#complainedMs = nowMs;
    return true;
  }
}

/** Two bundles of one version: whoever says that it holds the one must not be taken for holding the other. */
function assertSame({ version, rootsPem }: TrustedRoots, held: AgentIdentity): void {
  if (version !== held.trustVersion || isDeepStrictEqual(rootsPem, held.rootsPem)) return;
  throw new FairleadError(
    'CERTIFICATE_REFUSED',
    `the trust bundle is refused: version ${version} has other roots here`,
  );
}
