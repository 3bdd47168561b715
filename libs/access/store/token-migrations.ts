import { OUTBOX_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Forward only, in order. A released one is never changed. */
class ApiTokens1795651200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...TABLES_V1, ...OUTBOX_TABLE_V1]) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V1 = [
  `create table api_tokens (
    id uuid primary key,
    tenant_id text not null,
    kind text not null check (kind in ('administrator', 'token')),
    name text not null,
    token_hash text not null unique,
    created_by text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
  )`,
  'create unique index api_tokens_names on api_tokens (tenant_id, kind, name) where revoked_at is null',
  'create index api_tokens_of_tenant on api_tokens (tenant_id, id)',
];

export const TOKEN_MIGRATIONS = [ApiTokens1795651200000];
