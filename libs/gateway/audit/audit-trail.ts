import type { AuditSpool, Keep } from '@fairlead/audit-spool';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Outcome } from '../passage/outcome.js';
import { auditedIntent, auditedOutcome } from './audited-passage.js';
import { StrangerRefusals } from './stranger-refusals.js';

/** What goes through the doors, on record. */
export interface AuditTrail {
  /**
   * Of a passage that may change something, before anything of it goes on. What it returns is to be waited for: AUDIT_UNAVAILABLE if it cannot be on record,
   * and then it must not go on. Undefined: nothing has to be waited for.
   */
  intent(outcome: Outcome): Promise<void> | undefined;
  /** Of every passage, when it is over. */
  outcome(outcome: Outcome): void;
  /** Writes down what is only counted so far. */
  close(): void;
}

/** Of a replica that keeps none. */
export const noAudit: AuditTrail = {
  intent: () => undefined,
  outcome: () => undefined,
  close: () => undefined,
};

/** `required`: nothing that may change anything goes on unless that is on record; otherwise what cannot be kept is counted, and goes on. */
export type AuditPolicy = 'required' | 'best-effort';

export class SpooledAudit implements AuditTrail {
  readonly #spool: AuditSpool;
  readonly #policy: AuditPolicy;
  readonly #strangers: StrangerRefusals;

  constructor(spool: AuditSpool, policy: AuditPolicy) {
    this.#spool = spool;
    this.#policy = policy;
    this.#strangers = new StrangerRefusals((sum) => void spool.append(sum));
  }

  intent(outcome: Outcome): Promise<void> | undefined {
    if (this.#policy === 'required') return this.#durably(outcome);
    this.#spool.append(auditedIntent(outcome));
    return undefined;
  }

  outcome(outcome: Outcome): void {
    if (!outcome.identity && outcome.ending.kind === 'failed' && !this.#strangers.take(outcome)) return;
    // Whose intent is on record, of that it should be known how it ended.
    const keep = this.#policy === 'required' && outcome.intended ? reserveOf(outcome) : 'best-effort';
    this.#spool.append(auditedOutcome(outcome), keep);
  }

  close(): void {
    this.#strangers.tell();
  }

  async #durably(outcome: Outcome): Promise<void> {
    try {
      await this.#spool.appendDurably(auditedIntent(outcome), reserveOf(outcome));
    } catch (error) {
      const why = `nothing that may change anything is let go on, as it cannot be put on record: ${messageOf(error)}; the gateway's log says more`;
      throw new FairleadError('AUDIT_UNAVAILABLE', why, { cause: error });
    }
  }
}

function reserveOf({ identity }: Outcome): Exclude<Keep, 'best-effort'> {
  const isAdministrator = identity?.proof.kind === 'token' && identity.proof.of === 'administrator';
  return isAdministrator ? 'break-glass' : 'required';
}
