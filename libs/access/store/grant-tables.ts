import { CHANGED_KEYS_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Forward only, in order. A released one is never changed. */
class GrantsAndLockdowns1795651300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...GRANT_TABLES_V1, ...CHANGED_KEYS_TABLE_V1]) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const SCOPE = `cluster_names text[], cluster_selector text, check (cluster_names is null or cluster_selector is null)`;

const GRANT_TABLES_V1 = [
  `create table grants (
    id uuid primary key,
    tenant_id text not null,
    subject_kind text not null,
    subject_name text not null,
    bucket_key text collate "C" not null,
    effect text not null check (effect in ('allow', 'deny')),
    role text,
    group_names text[] not null,
    narrowing jsonb not null,
    impersonate jsonb,
    not_before timestamptz,
    expires_at timestamptz,
    reason text not null,
    created_by text not null,
    created_at timestamptz not null,
    request_id uuid,
    ended_at timestamptz,
    ended_by text,
    ${SCOPE}
  )`,
  'create index grants_live on grants (tenant_id, id) where ended_at is null',
  'create index grants_of_subject on grants (bucket_key, id) where ended_at is null',
  'create index grants_of_clusters on grants using gin (cluster_names) where ended_at is null',
  'create index grants_by_selector on grants (tenant_id, cluster_selector) where ended_at is null and cluster_selector is not null',
  'create index grants_of_all on grants (tenant_id, id) where ended_at is null and cluster_names is null and cluster_selector is null',
  'create index grants_ending on grants (expires_at) where ended_at is null and expires_at is not null',
  'create index grants_ended on grants (ended_at) where ended_at is not null',
  `create table access_requests (
    id uuid primary key,
    tenant_id text not null,
    user_name text not null,
    role text not null,
    narrowing jsonb not null,
    seconds int not null,
    reason text not null,
    state text not null,
    created_at timestamptz not null,
    decided_by text,
    decided_at timestamptz,
    grant_id uuid references grants (id) on delete set null,
    ${SCOPE}
  )`,
  'create index access_requests_of_tenant on access_requests (tenant_id, id)',
  `create index access_requests_pending on access_requests (tenant_id, user_name) where state = 'pending'`,
  'create index access_requests_of_grant on access_requests (grant_id) where grant_id is not null',
  'create index access_requests_old on access_requests (state, created_at)',
  `create table lockdowns (
    bucket_key text collate "C" primary key,
    tenant_id text not null,
    cluster_name text,
    cluster_id uuid,
    begun_by text not null,
    begun_at timestamptz not null,
    reason text not null,
    check ((cluster_name is null) = (cluster_id is null))
  )`,
  `create unique index lockdowns_of_name on lockdowns (tenant_id, coalesce(cluster_name, ''))`,
];

class TargetsOfGrants1796908000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table grants add column targets text[]');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

export const GRANT_MIGRATIONS = [GrantsAndLockdowns1795651300000, TargetsOfGrants1796908000000];
