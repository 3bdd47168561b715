import { RevokedIndex, type StatementRevocations } from '@fairlead/access-statement/statement-revocations';
import type { AccessStatement } from '@fairlead/access-statement';
import type { SignedTime } from '@fairlead/access-statement/signed-time';
import { fullJitterMs, type Clock } from '@fairlead/clock';
import { messageOf, toFairleadError } from '@fairlead/errors';
import { BoundedMap, RateLimitedLog } from '@fairlead/limits';
import type { Logger } from '@fairlead/observability';
import type { SignedRevocations } from '@fairlead/proto';
import type { RevocationsEnd } from '@fairlead/tunnel/agent';
import type { HeldIdentity } from './held-identity.js';

/** Until a statement has told whose the cluster is, lists of so many tenants are kept: a gateway may show any of them. */
const MAX_TENANTS = 64;
/** After what is no later list: a gateway that sends many costs no more than this many. */
const PAUSE_MS = 1_000;
const STORE_RETRY = { baseMs: 1_000, capMs: 60_000 };

interface Held {
  readonly list: StatementRevocations;
  readonly index: RevokedIndex;
}

interface Options {
  readonly identity: HeldIdentity;
  readonly time: SignedTime;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Which statements are worth nothing before their end, by the latest list that any gateway brought. Only what `keys` signed counts, and never an earlier list of the
 * tenant: one honest link is enough, and what was heard is kept beside the identity.
 */
export class AgentRevocations implements RevocationsEnd {
  readonly #options: Options;
  readonly #lists = new BoundedMap<string, Held>({ max: MAX_TENANTS, overflow: 'forget-oldest' });
  readonly #listeners = new Set<() => void>();
  readonly #refusals = new RateLimitedLog();
  /** Whose the cluster is, once that was signed. */
  #tenantId: string | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.#takeUp();
    options.identity.onChange(() => this.#takeUp());
  }

  get number(): number {
    return this.#tenantId === null ? 0 : (this.#lists.get(this.#tenantId)?.list.number ?? 0);
  }

  async take({ number, envelope }: SignedRevocations): Promise<void> {
    // Each replica tells it, and the first one was enough.
    if (number <= BigInt(this.number)) return;
    const { identity, clock } = this.#options;
    const isLater = await this.#judge(envelope);
    if (!isLater) await clock.sleep(PAUSE_MS, identity.over).catch(() => undefined);
  }

  /** Why this statement, which was verified, is worth nothing any more; null: it counts. */
  whyRevoked(statement: AccessStatement): string | null {
    return this.#lists.get(statement.tenantId)?.index.whyRevoked(statement) ?? null;
  }

  /** Does any list say that this cluster takes nobody without a statement? Whose it is need not be known yet: a list too many only refuses more. */
  requires(clusterId: string): boolean {
    return [...this.#lists.values()].some(({ index }) => index.requires(clusterId));
  }

  /** Calls back after each later list, until the result is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A statement for this cluster was verified: it says whose the cluster is. */
  saw({ tenantId }: AccessStatement): void {
    const own = this.#tenantId === null && this.#belongTo(tenantId);
    if (own) void this.#store(own.list);
  }

  /** What is stored is of this cluster's tenant; another pod may have stored a later one. */
  #takeUp(): void {
    const { revocations } = this.#options.identity.current;
    if (!revocations) return;
    if (this.#tenantId === null) this.#belongTo(revocations.tenantId);
    this.#hold(revocations);
  }

  /** From now on lists of other tenants are nothing to us. What was heard of this one, if anything was. */
  #belongTo(tenantId: string): Held | undefined {
    const own = this.#lists.get(tenantId);
    this.#tenantId = tenantId;
    this.#lists.clear();
    if (own) this.#lists.set(tenantId, own);
    return own;
  }

  /** True if it is later than what was held, of this tenant as far as that is known. */
  async #judge(envelope: Uint8Array): Promise<boolean> {
    const { identity, time } = this.#options;
    try {
      // What reads certificates is loaded when it is needed: an agent that starts is waited for.
      const { openStatementRevocations } = await import('@fairlead/access-statement');
      const list = await openStatementRevocations(envelope, { ...identity.current, at: new Date(time.nowMs()) });
      // No gateway hides ours behind one of another tenant.
      const isForeign = this.#tenantId !== null && list.tenantId !== this.#tenantId;
      if (isForeign || !this.#hold(list)) return false;
      if (list.tenantId === this.#tenantId) void this.#store(list);
      return true;
    } catch (error) {
      this.#complain(error);
      return false;
    }
  }

  #complain(error: unknown): void {
    const line = this.#refusals.nextOf('revocations');
    if (!line) return;
    const { code } = toFairleadError(error);
    const told = { code, reason: messageOf(error), held: this.number, ...line };
    this.#options.logger.error('statement.revocations_refused', told);
  }

  /** True if it is later than what was held. */
  #hold(list: StatementRevocations): boolean {
    const held = this.#lists.get(list.tenantId);
    if (held && held.list.number >= list.number) return false;
    this.#lists.set(list.tenantId, { list, index: new RevokedIndex(list) });
    const { number, revoked, locked, required } = list;
    this.#options.logger.info('statement.revocations', { number, revoked: revoked.length, locked, required });
    for (const listener of this.#listeners) listener();
    return true;
  }

  /** It counts already; stored it counts after a restart as well. */
  async #store(list: StatementRevocations): Promise<void> {
    const { identity, logger, clock } = this.#options;
    for (let attempt = 0; !identity.over.aborted; attempt += 1) {
      try {
        await identity.change((current) =>
          current.revocations && current.revocations.number >= list.number
            ? current
            : { ...current, revocations: list },
        );
        return;
      } catch (error) {
        const { code, message } = toFairleadError(error);
        logger.warn('statement.revocations_not_stored', { attempt, number: list.number, code, reason: message });
        await clock.sleep(fullJitterMs(attempt, STORE_RETRY), identity.over).catch(() => undefined);
      }
    }
  }
}
