import { systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import type { Check, Logger } from '@fairlead/observability';
import type { DataSource } from 'typeorm';
import { databaseAnswers } from './database.js';
import { migrationsPending } from './migrations.js';

const PERIOD_MS = 2_000;

/** Asks the database every two seconds, so that readiness can be told from memory. */
export class DatabaseMonitor implements AsyncDisposable {
  readonly #loop: RunLoop;
  #answers = false;
  #migrated = false;

  constructor(
    private readonly database: DataSource,
    private readonly logger: Logger,
  ) {
    this.#loop = new RunLoop({
      intervalMs: PERIOD_MS,
      work: async () => void (await this.#observe()),
      onFailed: (error) => logger.error('database.not_asked', { reason: messageOf(error) }),
    });
  }

  checks(): Check[] {
    return [
      { name: 'database', ok: this.#answers },
      { name: 'migrations', ok: this.#migrated, ...(this.#migrated ? {} : { detail: 'run the migrate command' }) },
    ];
  }

  /** Waits until the schema is what this version expects, and says so while it waits. */
  async untilMigrated(signal: AbortSignal): Promise<void> {
    for (let waited = 0; !(await this.#observe()); waited += 1) {
      if (waited % 10 === 0) this.logger.warn('migrations.pending', { action: 'waiting for the migrate command' });
      await systemClock.sleep(PERIOD_MS / 4, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #observe(): Promise<boolean> {
    const before = this.#answers;
    this.#answers = await databaseAnswers(this.database);
    if (before !== this.#answers) this.logger.info(this.#answers ? 'database.answers' : 'database.silent');
    // Once current, the schema stays at least as new as this process.
    if (this.#answers && !this.#migrated) this.#migrated = !(await migrationsPending(this.database).catch(() => true));
    return this.#answers && this.#migrated;
  }
}
