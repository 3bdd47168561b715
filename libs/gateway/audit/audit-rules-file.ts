import { open } from 'node:fs/promises';
import { systemClock, type Clock } from '@fairlead/clock';
import { NO_TENANT, type AuditedPassage, type RulesInForce } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Logger } from '@fairlead/observability';
import { MAX_RULES_BYTES, hashOf, readAuditRules, type AuditRules, type Recorded } from './audit-rules.js';

export interface AuditRulesFileOptions {
  readonly file: string;
  /** Credential of this replica. */
  readonly replica: string;
  /** Puts on record that other rules are in force, or cannot be read; rejects if it is not on record. */
  readonly announce: (record: RulesInForce) => Promise<void>;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Default 10,000. */
  readonly lookEveryMs?: number;
}

/** Not by notifications of the file system: a mounted ConfigMap is replaced by a link, on some systems without one. */
const LOOK_EVERY_MS = 10_000;
const RECORD_ALL: Recorded = { rule: undefined, level: 'metadata' };

/**
 * Rules of what is put on record, from a file that is read again and again. Other rules are in force once that is on record itself: until then, and before the first ones are, those before
 * stay, or all is put on record. A file that cannot be read changes nothing; the log says so once.
 */
export class AuditRulesFile implements AsyncDisposable {
  readonly #options: AuditRulesFileOptions;
  readonly #clock: Clock;
  #inForce: AuditRules | null = null;
  /** Hash of a file that could not be read, and how often it was seen. What is seen once may be half written. */
  #refused: { readonly hash: string; readonly times: number } | null = null;
  #loop: RunLoop | undefined;

  private constructor(options: AuditRulesFileOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** INVALID_ARGUMENT if the file cannot be read at first. */
  static async open(options: AuditRulesFileOptions): Promise<AuditRulesFile> {
    const { file, logger, lookEveryMs = LOOK_EVERY_MS } = options;
    const rules = new AuditRulesFile(options);
    try {
      readAuditRules(await contentOf(file));
    } catch (error) {
      throw new FairleadError('INVALID_ARGUMENT', `the audit rules in ${file} cannot be used: ${messageOf(error)}`, {
        cause: error,
      });
    }
    const onFailed = (error: unknown): void => logger.warn('audit.rules.not_in_force', { reason: messageOf(error) });
    await rules.#observe().catch(onFailed);
    rules.#loop = new RunLoop({
      work: () => rules.#observe(),
      intervalMs: lookEveryMs,
      jitter: 0.2,
      onFailed: (error, { repeated }) => {
        if (!repeated) onFailed(error);
      },
      clock: rules.#clock,
    });
    return rules;
  }

  /** Is what the file says something else than what is in force? */
  get isRefused(): boolean {
    return (this.#refused?.times ?? 0) > 1;
  }

  levelOf(passage: AuditedPassage): Recorded {
    return this.#inForce?.levelOf(passage) ?? RECORD_ALL;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop?.[Symbol.asyncDispose]();
  }

  async #observe(): Promise<void> {
    const bytes = await contentOf(this.#options.file).catch((error: unknown) => Buffer.from(messageOf(error)));
    const hash = hashOf(bytes);
    if (hash === this.#inForce?.hash) {
      this.#refused = null;
      return;
    }
    let rules: AuditRules;
    try {
      rules = readAuditRules(bytes);
    } catch (error) {
      await this.#refuse(hash, messageOf(error));
      return;
    }
    await this.#announce({ state: 'in-force', hash, rules: rules.count, why: '' });
    this.#refused = null;
    this.#inForce = rules;
    this.#options.logger.info('audit.rules.in_force', { hash, rules: rules.count });
  }

  async #refuse(hash: string, why: string): Promise<void> {
    const times = this.#refused?.hash === hash ? this.#refused.times + 1 : 1;
    if (times === 2) {
      this.#options.logger.error('audit.rules.refused', { hash, reason: why, inForce: this.#inForce?.hash });
      await this.#announce({ state: 'refused', hash, rules: 0, why });
    }
    this.#refused = { hash, times };
  }

  #announce(said: Pick<RulesInForce, 'state' | 'hash' | 'rules' | 'why'>): Promise<void> {
    return this.#options.announce({
      phase: 'rules',
      at: new Date(this.#clock.nowMs()).toISOString(),
      tenantId: NO_TENANT,
      replica: this.#options.replica,
      ...said,
      previousHash: this.#inForce?.hash ?? null,
    });
  }
}

/** No more of it than is needed to see that it is too large. */
async function contentOf(path: string): Promise<Buffer> {
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(MAX_RULES_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
