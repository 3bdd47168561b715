import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Issuers, and who has logged in by them. Forward only, in order. A released one is never changed. */
class Logins1795651400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V1) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V1 = [
  `create table issuers (
    name text primary key,
    tenant_id text not null,
    definition jsonb not null
  )`,
  'create index issuers_of_tenant on issuers (tenant_id, name)',
  `create table sessions (
    id uuid primary key,
    tenant_id text not null,
    issuer text not null references issuers (name) on delete cascade,
    subject text not null,
    user_name text not null,
    secret_hash text not null unique,
    nonce text,
    begun_at timestamptz not null,
    ends_at timestamptz not null
  )`,
  'create index sessions_of_user on sessions (issuer, user_name, begun_at)',
  'create index sessions_by_end on sessions (ends_at)',
  `create table logins (
    id uuid primary key,
    tenant_id text not null,
    issuer text not null references issuers (name) on delete cascade,
    kind text not null,
    session_id uuid references sessions (id) on delete cascade,
    user_name text not null,
    subject_groups text[] not null,
    token_hash text not null unique,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    check ((kind = 'workload') = (session_id is null))
  )`,
  'create index logins_of_session on logins (session_id)',
  'create index logins_of_user on logins (issuer, user_name)',
  'create index logins_by_end on logins (expires_at)',
  `create table spent_tokens (
    hash text primary key,
    keep_until timestamptz not null
  )`,
  'create index spent_tokens_by_end on spent_tokens (keep_until)',
  `create table known_users (
    id uuid primary key,
    tenant_id text not null,
    name text not null,
    kind text not null,
    issuer text not null,
    group_names text[] not null,
    groups_as_of timestamptz not null,
    first_login_at timestamptz not null,
    last_login_at timestamptz not null,
    unique (tenant_id, name)
  )`,
];

/** Who was not seen for long is found without looking at all. */
class SeenLast1797000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create index known_users_by_last_login on known_users (kind, last_login_at)');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

export const LOGIN_MIGRATIONS = [Logins1795651400000, SeenLast1797000000000];
