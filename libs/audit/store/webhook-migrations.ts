import type { MigrationInterface, QueryRunner } from 'typeorm';

class Webhooks1798200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Entries up to the cursor were looked at: what of them is to be delivered has a row of its own, until it was.
    await runner.query(`create table webhooks (
      subscriber_id uuid primary key references subscribers (id) on delete cascade,
      tenant_id text not null,
      url text not null,
      cursor bigint not null,
      delivered_at timestamptz,
      disabled_at timestamptz,
      disabled_for text,
      lease uuid,
      leased_until timestamptz,
      check ((disabled_at is null) = (disabled_for is null))
    )`);
    // Without a time for its next attempt it is a dead letter. A claim names one time that it was to be delivered.
    await runner.query(`create table webhook_deliveries (
      subscriber_id uuid not null references webhooks on delete cascade,
      number bigint not null,
      recorded_at timestamptz not null,
      claim uuid not null default gen_random_uuid(),
      attempts int not null default 0,
      next_at timestamptz default now(),
      last_at timestamptz,
      status int,
      error text,
      primary key (subscriber_id, number)
    )`);
    await runner.query(
      'create index webhook_deliveries_to_make on webhook_deliveries (subscriber_id, next_at) where next_at is not null',
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const WEBHOOK_MIGRATIONS = [Webhooks1798200000000];
