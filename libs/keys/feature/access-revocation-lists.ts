import {
  MAX_REVOCATIONS_BYTES,
  readAccessRevocations,
  signAccessRevocations,
  writeAccessRevocations,
} from '@fairlead/access-statement';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import {
  allRevocations,
  lockRevocations,
  saveRevocations,
  type StoredRevocations,
} from '../store/access-revocation-store.js';
import type { CurrentCa } from './current-ca.js';

/** An agent that comes after so long still believes its signer. */
const SIGNER_LIFE_MS = 7 * 86_400_000;
/** And so it is signed anew much earlier; and soon after another CA signs, whose root may be the only one that is trusted next. */
const RENEW_AFTER_MS = 86_400_000;
const RENEW_EVERY_MS = 60_000;

interface Options {
  readonly database: DataSource;
  readonly ca: CurrentCa;
  readonly logger: Logger;
  /** Something was stored that gateways are to see. */
  readonly onCommitted: () => void;
}

/** Signs which access statements are worth nothing any more. What is in a list is for `access` to decide; that none takes the place of a later one is decided here. */
export class AccessRevocationLists {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The number that is held then. INVALID_ARGUMENT for what is no list, FORBIDDEN for another tenant's, UNAVAILABLE when the issuing CA has ended. */
  async put(tenantId: string, documentBase64: string): Promise<number> {
    const bytes = Buffer.from(documentBase64, 'base64');
    if (bytes.length > MAX_REVOCATIONS_BYTES) {
      throw new FairleadError('INVALID_ARGUMENT', `the list is larger than ${MAX_REVOCATIONS_BYTES} bytes`);
    }
    const list = readAccessRevocations(bytes);
    if (list.tenantId !== tenantId) {
      throw new FairleadError('FORBIDDEN', 'the list is of another tenant than the one it was sent for');
    }
    const { number } = list;
    return this.#inTurn(async (manager) => {
      const held = await lockRevocations(manager, tenantId);
      if (held && held.number >= number) return held.number;
      // Written anew: what is signed has nothing that nobody reads.
      await this.#sign(manager, { tenantId, number, document: Buffer.from(writeAccessRevocations(list)) });
      return number;
    });
  }

  /** Signs anew what would not be believed for much longer. Created running; dispose of it to stop. */
  startRenewing(): RunLoop {
    const { logger } = this.#options;
    return new RunLoop({
      intervalMs: RENEW_EVERY_MS,
      turn: () => this.renew(),
      onFailed: (error) => logger.warn('access_revocations.not_renewed', { reason: messageOf(error) }),
    });
  }

  async renew(): Promise<void> {
    const { database } = this.#options;
    const lists = await inTransaction(database, allRevocations);
    if (lists.length === 0) return;
    const issuers = await inTransaction(database, async (manager) => issuersOf(await this.#signer(manager)));
    for (const list of lists.filter((each) => this.#isOld(each, issuers))) {
      await this.#inTurn(async (manager) => {
        const held = await lockRevocations(manager, list.tenantId);
        if (held && this.#isOld(held, issuers)) await this.#sign(manager, held);
      });
    }
  }

  #isOld(list: Pick<StoredRevocations, 'signedAt' | 'issuers'>, issuers: string): boolean {
    return list.issuers !== issuers || this.#options.ca.now().getTime() - list.signedAt.getTime() > RENEW_AFTER_MS;
  }

  async #sign(
    manager: EntityManager,
    list: Pick<StoredRevocations, 'tenantId' | 'number' | 'document'>,
  ): Promise<void> {
    const signer = await this.#signer(manager);
    const { tenantId, number, document } = list;
    const envelope = Buffer.from(await signAccessRevocations(document, signer));
    const signedAt = this.#options.ca.now();
    await saveRevocations(manager, { tenantId, number, document, envelope, issuers: issuersOf(signer), signedAt });
  }

  async #signer(manager: EntityManager) {
    const { ca } = this.#options;
    const { authority } = await ca.shared(manager);
    return authority.oneTimeSigner(ca.now(), { lifeMs: SIGNER_LIFE_MS, as: 'access-statements' });
  }

  async #inTurn<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    await this.#options.ca.upkeep();
    const result = await inTransaction(this.#options.database, work);
    this.#options.onCommitted();
    return result;
  }
}

function issuersOf({ chainPem }: { readonly chainPem: readonly string[] }): string {
  return chainPem.slice(1).join('');
}
