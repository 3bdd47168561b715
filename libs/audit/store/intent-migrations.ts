import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of which intents the gateway said that it lost how they ended. */
class LostOutcomes1798400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table open_intents add column lost boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const INTENT_MIGRATIONS = [LostOutcomes1798400000000];
