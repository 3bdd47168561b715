import {
  AccessStatement,
  CLOCK_LEEWAY_MS,
  MAX_LOGIN_STATEMENT_MS,
  MAX_STATEMENT_BYTES,
  MAX_TOKEN_STATEMENT_MS,
  signAccessStatement,
} from '@fairlead/access-statement';
import { FairleadError } from '@fairlead/errors';
import { inTransaction } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import type { OneTimeSigner } from '../domain/certificate-authority.js';
import type { BelongsTo } from './cluster-watch.js';
import type { CurrentCa } from './current-ca.js';

export interface SignedAccess {
  /** Base64. */
  readonly envelope: string;
  readonly openUntil: string;
}

/** How long one key signs. Its certificate counts for as much longer as what it signs. */
const KEY_LIFE_MS = 15 * 60_000;
/** Those that are renewed within the hour are signed by keys that are worth nothing soon after. */
const LIVES = { short: MAX_LOGIN_STATEMENT_MS, long: MAX_TOKEN_STATEMENT_MS } as const;
type Life = keyof typeof LIVES;

interface HeldSigner {
  readonly signer: Promise<OneTimeSigner>;
  readonly untilMs: number;
}

/**
 * Signs what doors and agents let people in by. What it says is for `access` to decide; that it is for a cluster of the tenant, and that nobody gets
 * more time than its kind may have, is decided here. Its keys are for this alone, are kept in memory, and change every quarter of an hour.
 */
export class AccessStatementSigner {
  readonly #database: DataSource;
  readonly #ca: CurrentCa;
  readonly #belongs: BelongsTo;
  readonly #held = new Map<Life, HeldSigner>();

  constructor({
    database,
    ca,
    belongs,
  }: {
    readonly database: DataSource;
    readonly ca: CurrentCa;
    readonly belongs: BelongsTo;
  }) {
    this.#database = database;
    this.#ca = ca;
    this.#belongs = belongs;
  }

  /**
   * The statement as it travels; it ends earlier than was asked for where the CA does. INVALID_ARGUMENT for what is no access statement, or has more time
   * than one of its kind may; FORBIDDEN for another tenant's, and for a cluster that is not this tenant's; UNAVAILABLE when the issuing CA has ended, or
   * it is not known at present whose the cluster is.
   */
  async sign(tenantId: string, documentBase64: string): Promise<SignedAccess> {
    const asked = read(documentBase64);
    if (asked.tenantId !== tenantId) {
      throw new FairleadError('FORBIDDEN', 'the statement is of another tenant than the one it was asked for');
    }
    if (!this.#belongs(tenantId, asked.clusterId)) {
      throw new FairleadError('FORBIDDEN', 'the statement is for a cluster that this tenant does not have');
    }
    const nowMs = this.#ca.now().getTime();
    if (Math.abs(Date.parse(asked.notBefore) - nowMs) > CLOCK_LEEWAY_MS) {
      throw new FairleadError(
        'INVALID_ARGUMENT',
        `the statement does not begin now, at ${new Date(nowMs).toISOString()}`,
      );
    }
    const { notAfter, ...signer } = await this.#signer(asked.kind, nowMs);
    const openUntil = new Date(Math.min(Date.parse(asked.openUntil), notAfter.getTime())).toISOString();
    const envelope = await signAccessStatement({ ...asked, openUntil }, signer);
    return { envelope: Buffer.from(envelope).toString('base64'), openUntil };
  }

  #signer(kind: AccessStatement['kind'], nowMs: number): Promise<OneTimeSigner> {
    const life = kind === 'login' || kind === 'workload' ? 'short' : 'long';
    const held = this.#held.get(life);
    if (held && nowMs < held.untilMs) return held.signer;
    const signer = this.#make(LIVES[life] + KEY_LIFE_MS + CLOCK_LEEWAY_MS);
    this.#held.set(life, { signer, untilMs: nowMs + KEY_LIFE_MS });
    // The next one who asks tries again.
    signer.catch(() => this.#held.delete(life));
    return signer;
  }

  async #make(lifeMs: number): Promise<OneTimeSigner> {
    await this.#ca.upkeep();
    return inTransaction(this.#database, async (manager) => {
      const { authority } = await this.#ca.shared(manager);
      return authority.oneTimeSigner(this.#ca.now(), { lifeMs, as: 'access-statements' });
    });
  }
}

function read(documentBase64: string): AccessStatement {
  const bytes = Buffer.from(documentBase64, 'base64');
  if (bytes.length > MAX_STATEMENT_BYTES) {
    throw new FairleadError('INVALID_ARGUMENT', `the statement is larger than ${MAX_STATEMENT_BYTES} bytes`);
  }
  try {
    return AccessStatement.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new FairleadError('INVALID_ARGUMENT', 'this is no access statement', { cause });
  }
}
