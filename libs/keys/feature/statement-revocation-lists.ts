import {
  MAX_REVOCATIONS_BYTES,
  readStatementRevocations,
  signStatementRevocations,
  writeStatementRevocations,
} from '@fairlead/access-statement';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import {
  allRevocations,
  lockRevocations,
  saveRevocations,
  type StoredRevocations,
} from '../store/statement-revocation-store.js';
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
export class StatementRevocationLists {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * The number that is held then, and whether it is that of this very list. INVALID_ARGUMENT for what is no list, FORBIDDEN for another tenant's, UNAVAILABLE when the
   * issuing CA has ended.
   */
  async put(tenantId: string, documentBase64: string): Promise<{ readonly number: number; readonly taken: boolean }> {
    const bytes = Buffer.from(documentBase64, 'base64');
    if (bytes.length > MAX_REVOCATIONS_BYTES) {
      throw new FairleadError('INVALID_ARGUMENT', `the list is larger than ${MAX_REVOCATIONS_BYTES} bytes`);
    }
    const list = readStatementRevocations(bytes);
    if (list.tenantId !== tenantId) {
      throw new FairleadError('FORBIDDEN', 'the list is of another tenant than the one it was sent for');
    }
    // Written anew: what is signed has nothing that nobody reads.
    const [number, document] = [list.number, Buffer.from(writeStatementRevocations(list))];
    return this.#inTurn(async (manager) => {
      const held = await lockRevocations(manager, tenantId);
      if (held && held.number >= number) return { number: held.number, taken: held.document.equals(document) };
      await this.#sign(manager, { tenantId, number, document });
      return { number, taken: true };
    });
  }

  /** Signs anew what would not be believed for much longer. Created running; dispose of it to stop. */
  startRenewing(): RunLoop {
    const { logger } = this.#options;
    return new RunLoop({
      intervalMs: RENEW_EVERY_MS,
      work: () => this.renew(),
      onFailed: (error) => logger.warn('statement_revocations.not_renewed', { reason: messageOf(error) }),
    });
  }

  async renew(): Promise<void> {
    const { database } = this.#options;
    const lists = await readFrom(database, allRevocations);
    if (lists.length === 0) return;
    const issuers = await inTransaction(database, (manager) => this.#issuers(manager));
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
    const { ca } = this.#options;
    const { authority } = await ca.shared(manager);
    const signer = await authority.oneTimeSigner(ca.now(), { lifeMs: SIGNER_LIFE_MS, as: 'access-statements' });
    const { tenantId, number, document } = list;
    const envelope = Buffer.from(await signStatementRevocations(document, signer));
    const issuers = await this.#issuers(manager);
    await saveRevocations(manager, { tenantId, number, document, envelope, issuers, signedAt: ca.now() });
  }

  /** The chain above whoever would sign now. */
  async #issuers(manager: EntityManager): Promise<string> {
    const { authority } = await this.#options.ca.shared(manager);
    return authority.signerIssuers(this.#options.ca.now()).join('');
  }

  async #inTurn<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    await this.#options.ca.upkeep();
    const result = await inTransaction(this.#options.database, work);
    this.#options.onCommitted();
    return result;
  }
}
