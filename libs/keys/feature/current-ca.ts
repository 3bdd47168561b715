import { isDeepStrictEqual } from 'node:util';
import { LinkEndpoint, type TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { highestToSign, readTrust, spkiPin, tellsAll } from '@fairlead/pki';
import type { DataSource, EntityManager } from 'typeorm';
import { createIssuingBelow, isDue, type AuthorityPair, type HeldAuthority } from '../domain/authority.js';
import {
  authoritiesStamp,
  insertAuthority,
  lockAuthorities,
  moveAuthorities,
  newestBundle,
  shareAuthorities,
} from '../store/authority-store.js';
import { allEndpoints } from '../store/endpoint-store.js';
import { revokedGateways } from '../store/revocation-store.js';
import type { MasterKey } from '../store/master-key.js';
import type { Sealer } from '../store/sealer.js';
import { TREES, aboutCa, createFirst, loadCa, signVersion, type Ca, type CaParameters } from './load-ca.js';

export interface CurrentCaOptions extends CaParameters {
  readonly database: DataSource;
  readonly masterKey: MasterKey;
  readonly logger: Logger;
  /** Events and the projection may go out. */
  readonly onCommitted: () => void;
  readonly now?: () => Date;
}

/**
 * The CA of this installation, kept in memory and read again whenever any process changed it. Issuing CAs are replaced when a third of
 * their life is left: chains carry them, so nobody has to be told.
 */
export class CurrentCa {
  readonly sealer: Sealer;
  readonly #options: CurrentCaOptions;
  #known: { readonly stamp: string; readonly ca: Ca };

  private constructor(options: CurrentCaOptions, sealer: Sealer, known: { stamp: string; ca: Ca }) {
    this.#options = options;
    this.sealer = sealer;
    this.#known = known;
  }

  /**
   * Makes the CA the first time, once, however many processes ask; the master key is made with it, and only then. Throws
   * INVALID_ARGUMENT when the master key is missing or another; UNAVAILABLE while the database is away. `imported`: the identity tree
   * that it is to begin with.
   */
  static async open(options: CurrentCaOptions, imported?: AuthorityPair): Promise<CurrentCa> {
    const now = options.now?.() ?? new Date();
    const standing = await CurrentCa.#openStanding(options);
    if (standing) return standing;
    const opened = await inTransaction(options.database, async (manager) => {
      await lockAuthorities(manager);
      const stamp = await authoritiesStamp(manager);
      const sealer = await options.masterKey.open(stamp === '');
      if (stamp === '') await createFirst(manager, sealer, options, now, imported);
      if (!(await newestBundle(manager))) await signVersion(manager, sealer, options, 1, now);
      return new CurrentCa(options, sealer, await loadCa(manager, sealer, options));
    });
    options.onCommitted();
    return opened;
  }

  /** Keeps nobody from signing meanwhile: a KMS may be slow. Null: something is still to be made. */
  static async #openStanding(options: CurrentCaOptions): Promise<CurrentCa | null> {
    if ((await readFrom(options.database, authoritiesStamp)) === '') return null;
    const sealer = await options.masterKey.open(false);
    return inTransaction(options.database, async (manager) => {
      await shareAuthorities(manager);
      if (!(await newestBundle(manager))) return null;
      return new CurrentCa(options, sealer, await loadCa(manager, sealer, options));
    });
  }

  get trustDomain(): string {
    return this.#options.trustDomain;
  }

  now(): Date {
    return this.#options.now?.() ?? new Date();
  }

  /** To sign with, or to verify by: nobody changes it until the transaction ends. */
  async shared(manager: EntityManager): Promise<Ca> {
    await shareAuthorities(manager);
    return this.#read(manager);
  }

  /** Nobody else changes it, or signs, until the transaction ends. */
  async locked(manager: EntityManager): Promise<Ca> {
    await lockAuthorities(manager);
    return this.#read(manager);
  }

  /** As it was a moment ago. UNAVAILABLE while the database is away. */
  async latest(): Promise<Ca> {
    const { database } = this.#options;
    if ((await readFrom(database, authoritiesStamp)) === this.#known.stamp) return this.#known.ca;
    return inTransaction(database, (manager) => this.shared(manager));
  }

  /** Answered from memory while the database is away: an older version replaces no newer one anywhere. */
  async trustBundle(): Promise<TrustBundle> {
    return toTrustBundle(await this.latest().catch((error: unknown) => this.#stale(error)));
  }

  /**
   * After a change to the CA within the transaction: its roots, signed as the version after the newest one, or as one that is higher by so many.
   * CONFLICT for a version that nobody would take yet, and for one of the last `kept` below that, which others are to have.
   */
  async publish(manager: EntityManager, by = 1, kept = 0): Promise<Ca> {
    const held = (await newestBundle(manager))?.version ?? 0;
    const next = held + by;
    assertTaken(held, next, highestToSign(this.now()) - kept);
    await signVersion(manager, this.sealer, this.#options, next, this.now());
    // Not kept: what is not committed may never be.
    return (await loadCa(manager, this.sealer, this.#options)).ca;
  }

  /**
   * Agents learn from the trust bundle which gateways' certificates were revoked: signs the next version if the newest one leaves any out, or
   * says something else of endpoints than is so, as an older process signs it.
   */
  async publishRevokedGateways(): Promise<void> {
    const published = await inTransaction(this.#options.database, async (manager) => {
      const { bundle } = await this.locked(manager);
      const { missing } = await this.#compare(manager, bundle);
      if (!missing) return false;
      await this.publish(manager);
      return true;
    });
    if (published) this.#options.onCommitted();
  }

  /** What a bundle that is signed now would name, against what this one does; those whose certificates ended long ago are left out by now. */
  async #compare(manager: EntityManager, { bundle }: Ca['bundle']): Promise<{ missing: boolean; same: boolean }> {
    const named = readTrust(Buffer.from(bundle, 'base64'));
    const revoked = await revokedGateways(manager, this.now());
    const missing = !tellsAll(named, revoked) || !isDeepStrictEqual(named.endpoints ?? [], await allEndpoints(manager));
    return { missing, same: !missing && tellsAll(revoked, named) };
  }

  /** Replaces issuing CAs whose time has come and whose root's key is here. To be called before signing; it costs nothing mostly. */
  async upkeep(): Promise<void> {
    const isAnyDue = ({ authority }: Ca): boolean => TREES.some((tree) => this.#canReplace(authority.pair(tree)));
    if (!isAnyDue(this.#known.ca)) return;
    await inTransaction(this.#options.database, async (manager) => {
      const ca = await this.locked(manager);
      for (const tree of TREES) {
        const pair = ca.authority.pair(tree);
        if (!this.#canReplace(pair)) continue;
        const issuing = await createIssuingBelow(pair.root, tree, this.now());
        await this.replaceIssuing(manager, issuing, ca.bundle.version);
      }
    });
    this.#options.onCommitted();
  }

  /** When what signs now ends: the active root of each tree, and the issuing CA below it. From memory. */
  lives(): { readonly tree: (typeof TREES)[number]; readonly role: 'root' | 'issuing'; readonly notAfter: Date }[] {
    return TREES.flatMap((tree) => {
      const { root, issuing } = this.#known.ca.authority.pair(tree);
      return [
        { tree, role: 'root', notAfter: root.notAfter },
        { tree, role: 'issuing', notAfter: issuing.notAfter },
      ] as const;
    });
  }

  /** Tells the log of what only a person can do. */
  warn(): void {
    for (const tree of TREES) {
      const pair = this.#known.ca.authority.pair(tree);
      const offline = pair.root.privateKeyPem === null;
      const notAfter = pair.issuing.notAfter.toISOString();
      if (offline && isDue(pair, this.now())) this.#options.logger.warn('ca.issuing_due', { tree, notAfter });
    }
  }

  #canReplace(pair: AuthorityPair): boolean {
    return pair.root.privateKeyPem !== null && isDue(pair, this.now());
  }

  /** Another issuing CA below the active root signs from now on; the bundle's signer would have ended with the one before. */
  async replaceIssuing(manager: EntityManager, issuing: HeldAuthority, version: number): Promise<void> {
    const { source, logger } = this.#options;
    const tree = issuing.kind === 'identity-issuing' ? 'identity' : 'serving';
    await moveAuthorities(manager, [issuing.kind], 'active', 'retired', this.now());
    await insertAuthority(manager, this.sealer, issuing, this.now());
    if (tree === 'identity') await this.#signAgain(manager, version);
    const pin = spkiPin(issuing.certificatePem);
    const event = { ...aboutCa(source, pin), tree, pin, notAfter: issuing.notAfter.toISOString() } as const;
    await appendEvent(manager, createEvent(source, 'dev.fairlead.ca.issuing-replaced.v1', event));
    logger.info('ca.issuing_replaced', { tree, pin });
  }

  /** The same version by another signer, unless it would say something else: two bundles of one version name the same gateways. */
  async #signAgain(manager: EntityManager, version: number): Promise<void> {
    const newest = await newestBundle(manager);
    const same = newest === null || (await this.#compare(manager, newest)).same;
    const next = same ? version : newest.version + 1;
    if (!same) assertTaken(newest.version, next, highestToSign(this.now()));
    await signVersion(manager, this.sealer, this.#options, next, this.now());
  }

  async #read(manager: EntityManager): Promise<Ca> {
    const stamp = await authoritiesStamp(manager);
    if (stamp === this.#known.stamp) return this.#known.ca;
    this.#known = await loadCa(manager, this.sealer, this.#options);
    this.#options.logger.info('ca.loaded', { version: this.#known.ca.bundle.version });
    return this.#known.ca;
  }

  #stale(error: unknown): Ca {
    if (error instanceof FairleadError && error.code === 'UNAVAILABLE') return this.#known.ca;
    throw error;
  }
}

/** Versions above `highestToSign` are refused by agents and replicas, as somebody's who signs by a key that leaked. */
function assertTaken(held: number, next: number, highest: number): void {
  if (next <= highest) return;
  throw new FairleadError(
    'CONFLICT',
    `version ${next} of the trust bundle is too high for this time: it may rise from ${held} to ${Math.max(held, highest)} now, and by ten more each day`,
  );
}

function toTrustBundle({ authority, bundle }: Ca): TrustBundle {
  const { version, ...signed } = bundle;
  const roots = authority.roots();
  return {
    version,
    trustDomain: authority.trustDomain,
    roots,
    pins: roots.map(spkiPin),
    servingRoot: authority.roots('serving').join('\n'),
    endpoints: (readTrust(Buffer.from(bundle.bundle, 'base64')).endpoints ?? []).map((each) =>
      LinkEndpoint.parse(each),
    ),
    signed,
  };
}
