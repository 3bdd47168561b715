import type { AuditSpool, Keep } from '@fairlead/audit-spool';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { AuditedPassage } from '@fairlead/contracts';
import { isRefusal, type Outcome } from '../passage/outcome.js';
import { auditedIntent, auditedOutcome } from './audited-passage.js';
import type { Recorded } from './audit-rules.js';
import { RefusalsInFloods } from './refusals-in-floods.js';
import { RefusedHandshakes } from './refused-handshakes.js';

/** What goes through the doors, on record. */
export interface AuditTrail {
  /**
   * Of a passage that may change something, before anything of it goes on. What it returns is to be waited for: AUDIT_UNAVAILABLE if it cannot be on record,
   * and then it must not go on. Undefined: nothing has to be waited for.
   */
  intent(outcome: Outcome): Promise<void> | undefined;
  /** Of every passage, when it is over. */
  outcome(outcome: Outcome): void;
  /** Of a connection that ended in its handshake, for this reason. */
  handshake(door: string, cause: string, address: string): void;
  /** Writes down what is only counted so far. */
  close(): void;
}

/** Of a replica that keeps none. */
export const noAudit: AuditTrail = {
  intent: () => undefined,
  outcome: () => undefined,
  handshake: () => undefined,
  close: () => undefined,
};

/** `required`: nothing that may change anything goes on unless that is on record; otherwise what cannot be kept is counted, and goes on. */
export type AuditPolicy = 'required' | 'best-effort';

type Spool = Pick<AuditSpool, 'append' | 'appendDurably' | 'offer'>;

/** What of it is put on record at all. */
export interface AuditLevels {
  levelOf(passage: AuditedPassage): Recorded;
  /** Told of each passage that was not, by the rule that says so. */
  leftOut(rule: string): void;
}

export class SpooledAudit implements AuditTrail {
  readonly #spool: Spool;
  readonly #policy: AuditPolicy;
  readonly #levels: AuditLevels | undefined;
  readonly #refusals: RefusalsInFloods;
  readonly #handshakes: RefusedHandshakes;
  /** Of passages whose intent is on record: how they end is, too, whatever the rules are by then. One for each that goes through at present. */
  readonly #intents = new Set<string>();

  /** Without levels all is put on record. */
  constructor(spool: Spool, policy: AuditPolicy, levels?: AuditLevels) {
    this.#spool = spool;
    this.#policy = policy;
    this.#levels = levels;
    this.#handshakes = new RefusedHandshakes((sum) => spool.offer(sum));
    // A sum that there is no room for is not one record lost, but as many as it counts.
    this.#refusals = new RefusalsInFloods((sum) => spool.offer(sum));
  }

  intent(outcome: Outcome): Promise<void> | undefined {
    if (this.#policy === 'required') return this.#durably(outcome);
    const record = auditedIntent(outcome);
    if (this.#ruleAgainst(outcome, record) !== null) return undefined;
    this.#intents.add(outcome.requestId);
    this.#spool.append(record);
    return undefined;
  }

  outcome(outcome: Outcome): void {
    if (!this.#refusals.take(outcome)) return;
    // Whose intent is on record, of that it should be known how it ended.
    const keep = this.#policy === 'required' && outcome.intended ? reserveOf(outcome) : 'best-effort';
    const record = auditedOutcome(outcome);
    const rule = this.#intents.delete(outcome.requestId) ? null : this.#ruleAgainst(outcome, record);
    if (rule === null) this.#spool.append(record, keep);
    else this.#levels?.leftOut(rule);
  }

  handshake(door: string, cause: string, address: string): void {
    this.#handshakes.add(door, cause, address);
  }

  close(): void {
    this.#refusals.tell();
    this.#handshakes.tell();
  }

  /** By which it is not put on record; null: it is. */
  #ruleAgainst(outcome: Outcome, record: AuditedPassage): string | null {
    if (!this.#levels || isAlwaysKept(outcome, this.#policy)) return null;
    const { level, rule } = this.#levels.levelOf(record);
    return level === 'none' ? (rule ?? '') : null;
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

function reserveOf(outcome: Outcome): Exclude<Keep, 'best-effort'> {
  return isBreakGlass(outcome) ? 'break-glass' : 'required';
}

function isBreakGlass({ identity }: Outcome): boolean {
  return identity?.proof.kind === 'token' && identity.proof.of === 'administrator';
}

const REFUSED_THERE: ReadonlySet<number> = new Set([401, 403]);

/** Whatever the rules say: what was refused, here, by the agent or by the cluster; the way in when all else is away; and what has to be on record before it goes on. */
function isAlwaysKept(outcome: Outcome, policy: AuditPolicy): boolean {
  const { decision, ending, intended } = outcome;
  if (decision === 'refused' || isBreakGlass(outcome)) return true;
  if (policy === 'required' && intended) return true;
  if (ending.kind === 'answered') return REFUSED_THERE.has(ending.status);
  const failure = ending.kind === 'failed' ? ending.failure : ending.endedBy;
  return failure !== undefined && isRefusal(failure);
}
