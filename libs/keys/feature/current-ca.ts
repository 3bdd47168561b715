import { NO_TENANT, type Caller, type TrustBundle } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { spkiPin } from '@fairlead/pki';
import type { DataSource, EntityManager } from 'typeorm';
import { createIssuingBelow, createPair, isDue, type AuthorityPair, type Tree } from '../domain/authority.js';
import { CertificateAuthority } from '../domain/certificate-authority.js';
import {
  authoritiesStamp,
  findAuthorities,
  insertAuthority,
  lockAuthorities,
  moveAuthorities,
  newestBundle,
  saveBundle,
  shareAuthorities,
  type StoredBundle,
} from '../store/authority-store.js';
import { openSealer, type Sealer } from '../store/sealer.js';

export interface CurrentCaOptions {
  readonly database: DataSource;
  readonly masterKeyFile: string;
  readonly trustDomain: string;
  /** How long what is signed lives. */
  readonly leafLifeSeconds: number;
  /** This process, as the source of events. */
  readonly source: Caller;
  readonly logger: Logger;
  /** Events and the projection may go out. */
  readonly onCommitted: () => void;
  readonly now?: () => Date;
}

/** The CA as a transaction sees it. */
export interface Ca {
  readonly authority: CertificateAuthority;
  /** The signed roots, newest version. */
  readonly bundle: StoredBundle;
}

const TREES: readonly Tree[] = ['identity', 'serving'];

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
   * INVALID_ARGUMENT when the master key is missing or another; UNAVAILABLE while the database is away.
   */
  static async open(options: CurrentCaOptions): Promise<CurrentCa> {
    const now = options.now?.() ?? new Date();
    const opened = await inTransaction(options.database, async (manager) => {
      await lockAuthorities(manager);
      const stamp = await authoritiesStamp(manager);
      const sealer = await openSealer(options.masterKeyFile, stamp === '');
      if (stamp === '') await createFirst(manager, sealer, options, now);
      if (!(await newestBundle(manager))) await signVersion(manager, sealer, options, 1, now);
      return new CurrentCa(options, sealer, await load(manager, sealer, options));
    });
    options.onCommitted();
    return opened;
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

  /** After a change to the CA within the transaction: its roots, signed as the version after the newest one. */
  async publish(manager: EntityManager): Promise<Ca> {
    const newest = await newestBundle(manager);
    await signVersion(manager, this.sealer, this.#options, (newest?.version ?? 0) + 1, this.now());
    // Not kept: what is not committed may never be.
    return (await load(manager, this.sealer, this.#options)).ca;
  }

  /** Replaces issuing CAs whose time has come and whose root's key is here. To be called before signing; it costs nothing mostly. */
  async upkeep(): Promise<void> {
    const isAnyDue = ({ authority }: Ca): boolean => TREES.some((tree) => this.#canReplace(authority.pair(tree)));
    if (!isAnyDue(this.#known.ca)) return;
    await inTransaction(this.#options.database, async (manager) => {
      const ca = await this.locked(manager);
      for (const tree of TREES) {
        const pair = ca.authority.pair(tree);
        if (this.#canReplace(pair)) await this.#replace(manager, pair, tree, ca.bundle.version);
      }
    });
    this.#options.onCommitted();
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

  async #replace(manager: EntityManager, { root }: AuthorityPair, tree: Tree, version: number): Promise<void> {
    const issuing = await createIssuingBelow(root, tree, this.now());
    await moveAuthorities(manager, [issuing.kind], 'active', 'retired', this.now());
    await insertAuthority(manager, this.sealer, issuing, this.now());
    // The signer of the bundle would have ended with the old one.
    if (tree === 'identity') await signVersion(manager, this.sealer, this.#options, version, this.now());
    const pin = spkiPin(issuing.certificatePem);
    const event = { ...about(this.#options.source, pin), tree, pin, notAfter: issuing.notAfter.toISOString() };
    await appendEvent(manager, createEvent(this.#options.source, 'dev.fairlead.ca.issuing-replaced.v1', event));
    this.#options.logger.info('ca.issuing_replaced', { tree, pin });
  }

  async #read(manager: EntityManager): Promise<Ca> {
    const stamp = await authoritiesStamp(manager);
    if (stamp === this.#known.stamp) return this.#known.ca;
    this.#known = await load(manager, this.sealer, this.#options);
    this.#options.logger.info('ca.loaded', { version: this.#known.ca.bundle.version });
    return this.#known.ca;
  }

  #stale(error: unknown): Ca {
    if (error instanceof FairleadError && error.code === 'UNAVAILABLE') return this.#known.ca;
    throw error;
  }
}

type CaParameters = Pick<CurrentCaOptions, 'trustDomain' | 'leafLifeSeconds' | 'source'>;

async function load(manager: EntityManager, sealer: Sealer, options: CaParameters): Promise<{ stamp: string; ca: Ca }> {
  // Read first: what changes after it is seen by the next comparison.
  const stamp = await authoritiesStamp(manager);
  const bundle = await newestBundle(manager);
  if (!bundle) throw new FairleadError('INTERNAL', 'the database has a CA and no trust bundle');
  return { stamp, ca: { authority: await assemble(manager, sealer, options), bundle } };
}

async function assemble(
  manager: EntityManager,
  sealer: Sealer,
  { trustDomain, leafLifeSeconds }: CaParameters,
): Promise<CertificateAuthority> {
  return new CertificateAuthority(await findAuthorities(manager, sealer), trustDomain, leafLifeSeconds);
}

async function signVersion(
  manager: EntityManager,
  sealer: Sealer,
  options: CaParameters,
  version: number,
  now: Date,
): Promise<void> {
  const authority = await assemble(manager, sealer, options);
  await saveBundle(manager, { ...(await authority.signBundle(version, now)), version }, now);
}

async function createFirst(manager: EntityManager, sealer: Sealer, options: CaParameters, now: Date): Promise<void> {
  const { source, trustDomain } = options;
  const pins: string[] = [];
  for (const tree of TREES) {
    const { root, issuing } = await createPair(tree, 'active', now);
    for (const authority of [root, issuing]) await insertAuthority(manager, sealer, authority, now);
    pins.push(spkiPin(root.certificatePem));
  }
  const event = { ...about(source, pins[0] ?? ''), pins, trustDomain };
  await appendEvent(manager, createEvent(source, 'dev.fairlead.ca.created.v1', event));
}

function about(
  source: Caller,
  pin: string,
): { tenantId: string; subject: string; actor: { kind: 'service'; id: string }; reason: string } {
  return {
    tenantId: NO_TENANT,
    subject: `ca/${pin}`,
    actor: { kind: 'service', id: source.credential },
    reason: 'OK',
  };
}

function toTrustBundle({ authority, bundle }: Ca): TrustBundle {
  const { version, ...signed } = bundle;
  const roots = authority.roots();
  return {
    version,
    trustDomain: authority.trustDomain,
    roots,
    pins: roots.map(spkiPin),
    servingRoot: authority.pair('serving').root.certificatePem,
    signed,
  };
}
