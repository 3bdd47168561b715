import type { MigrationInterface, QueryRunner } from 'typeorm';
import { PRODUCER_MIGRATIONS } from './producer-migrations.js';
import { LOG_MIGRATIONS } from './log-migrations.js';
import { SUBSCRIBER_MIGRATIONS } from './subscriber-migrations.js';
import { WEBHOOK_MIGRATIONS } from './webhook-migrations.js';

/** Forward only, in order. A released one is never changed. */
class AuditLog1795961000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V1) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V1 = [
  // One row for each tenant: whoever adds to a log holds it, so that numbers have no hole and times never go down.
  `create table tenant_logs (
    tenant_id text primary key,
    size bigint not null default 0,
    last_recorded_at timestamptz not null default '-infinity'
  )`,
  // By the day of recording, which nobody who hands entries on can choose: a day that is over never changes.
  `create table entries (
    tenant_id text not null,
    number bigint not null,
    recorded_at timestamptz not null,
    at timestamptz not null,
    kind text not null,
    source text not null,
    user_name text not null,
    cluster text not null,
    action text not null,
    decision text not null,
    facets text[] not null,
    body text,
    nonce bytea,
    check ((body is null) = (nonce is null)),
    primary key (tenant_id, number, recorded_at)
  ) partition by range (recorded_at)`,
  'create index entries_in_order on entries (tenant_id, recorded_at, number)',
  'create index entries_by_time on entries (tenant_id, at)',
  'create index entries_by_facet on entries using gin (facets)',
  // Which numbers a day has; still there when its entries are gone.
  `create table segments (
    tenant_id text not null,
    day date not null,
    first_number bigint not null,
    last_number bigint not null,
    primary key (tenant_id, day)
  )`,
  `create table producers (
    producer text not null,
    epoch text not null,
    mark bigint not null default 0,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (producer, epoch)
  )`,
  `create table gaps (
    producer text not null,
    epoch text not null,
    first_number bigint not null,
    last_number bigint not null,
    found_at timestamptz not null,
    announced boolean not null,
    primary key (producer, epoch, first_number),
    foreign key (producer, epoch) references producers on delete cascade
  )`,
  'create index gaps_to_announce on gaps (found_at) where not announced',
  // What was told and taken, for as long as it may come again.
  `create table inbox (
    source text not null,
    id uuid not null,
    received_at timestamptz not null,
    primary key (source, id)
  )`,
  'create index inbox_by_time on inbox (received_at)',
  `create table open_intents (
    producer text not null,
    passage_id uuid not null,
    epoch text not null,
    tenant_id text not null,
    number bigint not null,
    at timestamptz not null,
    user_name text not null,
    cluster text not null,
    action text not null,
    primary key (producer, passage_id)
  )`,
];

export const AUDIT_MIGRATIONS = [
  AuditLog1795961000000,
  ...LOG_MIGRATIONS,
  ...SUBSCRIBER_MIGRATIONS,
  ...WEBHOOK_MIGRATIONS,
  ...PRODUCER_MIGRATIONS,
];
