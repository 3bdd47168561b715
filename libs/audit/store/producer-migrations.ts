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

/** Of which epochs the gateway said that it had handed on everything. */
class EndedEpochs1798600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table producers add column ended boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Which epoch a new one came after, until the log tells of it. */
class EpochsBefore1798800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table producers add column untold_after text');
    await runner.query('create index producers_untold on producers (first_at) where untold_after is not null');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const PRODUCER_MIGRATIONS = [LostOutcomes1798400000000, EndedEpochs1798600000000, EpochsBefore1798800000000];
