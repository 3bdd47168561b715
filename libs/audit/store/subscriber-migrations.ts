import { OUTBOX_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who outside is told of events. Of a subscriber of another kind than `nats` its own table says the rest. */
class Subscribers1798000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of OUTBOX_TABLE_V1) await runner.query(statement);
    await runner.query(`create table subscribers (
      id uuid primary key,
      tenant_id text not null,
      name text not null,
      kind text not null,
      types text[] not null,
      created_at timestamptz not null,
      starts_at timestamptz not null default now(),
      starts_at_number bigint,
      nats_public_key text unique,
      check ((kind = 'nats') = (nats_public_key is not null)),
      unique (tenant_id, name)
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const SUBSCRIBER_MIGRATIONS = [Subscribers1798000000000];
