import { OUTBOX_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Forward only, in order. A released one is never changed. */
abstract class Forward implements MigrationInterface {
  abstract up(runner: QueryRunner): Promise<void>;

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class DesiredStates1795356000000 extends Forward {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...TABLES_V1, ...OUTBOX_TABLE_V1]) await runner.query(statement);
  }
}

/** A repository that was there before has its keys replaced by no schedule until somebody says so. */
class KeyRotation1795960000000 extends Forward {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table repositories add column rotate_keys_seconds int');
  }
}

const TABLES_V1 = [
  `create table repositories (
    id uuid primary key,
    tenant_id text not null,
    name text not null,
    git_host text not null,
    host_id uuid not null,
    path text not null,
    ssh_url text not null,
    default_branch text,
    created_at timestamptz not null default now(),
    unique (tenant_id, name)
  )`,
  `create table bundles (
    id uuid primary key,
    tenant_id text not null,
    tool text not null,
    version text not null,
    digest text not null,
    bytes int not null,
    compressed_bytes int not null,
    objects int not null,
    images text[] not null,
    origin text not null,
    imported_by text not null,
    imported_at timestamptz not null,
    content bytea not null,
    unique (tenant_id, tool, version)
  )`,
  'create index bundles_by_digest on bundles (tenant_id, digest)',
  // Compressed already, and read in pieces.
  'alter table bundles alter column content set storage external',
  `create table bundle_uploads (
    id uuid primary key,
    tenant_id text not null,
    tool text not null,
    version text not null,
    digest text not null,
    bytes int not null,
    origin text not null,
    actor text not null,
    received int not null default 0,
    expires_at timestamptz not null
  )`,
  `create table bundle_pieces (
    upload_id uuid not null references bundle_uploads (id) on delete cascade,
    start int not null,
    piece bytea not null,
    primary key (upload_id, start)
  )`,
  `create table assignments (
    tenant_id text not null,
    name text not null,
    version int not null,
    spec jsonb not null,
    stable jsonb,
    stable_version int not null default 0,
    primary key (tenant_id, name)
  )`,
  `create table clusters (
    id uuid primary key,
    tenant_id text not null,
    name text not null,
    labels jsonb not null,
    absent_since timestamptz,
    assignment text,
    adopted jsonb,
    remove text not null default 'keep',
    removed text not null default 'keep',
    deploy_keys jsonb not null,
    revision bigint not null default 0,
    revised_at timestamptz,
    wish jsonb,
    signed jsonb,
    sign_again_at timestamptz,
    waits_for text,
    due_at timestamptz,
    touched bigint not null default 0,
    failures int not null default 0,
    converged bigint not null default -1,
    report jsonb,
    reported_at timestamptz,
    phase text,
    problem_code text,
    problem_since timestamptz,
    check ((revision = 0) = (signed is null))
  )`,
  'create index clusters_of_tenant on clusters (tenant_id, name)',
  'create index clusters_due on clusters (due_at) where due_at is not null',
  'create index clusters_to_sign on clusters (sign_again_at) where sign_again_at is not null',
  `create table cluster_events (
    id bigint generated always as identity primary key,
    cluster_id uuid not null references clusters (id) on delete cascade,
    instance uuid not null,
    sequence bigint not null,
    event jsonb not null,
    unique (cluster_id, instance, sequence)
  )`,
  `create table rollouts (
    id uuid primary key,
    tenant_id text not null,
    assignment text not null,
    version int not null,
    spec jsonb not null,
    formers jsonb not null,
    former_of jsonb not null,
    progress jsonb not null,
    state text not null,
    started_at timestamptz not null,
    ended_at timestamptz
  )`,
  'create unique index rollouts_running on rollouts (tenant_id, assignment) where ended_at is null',
  'create index rollouts_of_tenant on rollouts (tenant_id, started_at desc)',
  `create table breakers (
    tenant_id text primary key,
    breaker jsonb not null,
    held_repairs boolean not null default false
  )`,
];

export const GITOPS_MIGRATIONS = [DesiredStates1795356000000, KeyRotation1795960000000];
