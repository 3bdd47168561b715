import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which statements end before their time. */
class RevokedStatements1796800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V1) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** A list that was made is sent again as it is. */
class MadeLists1796900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table revocation_lists add column document bytea, add column document_number bigint');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V1 = [
  `create table revoked_statements (
    tenant_id text not null,
    kind text not null check (kind in ('administrator', 'token', 'grant', 'user', 'logins')),
    value text not null,
    before timestamptz not null,
    until timestamptz not null,
    primary key (tenant_id, kind, value)
  )`,
  `create table revocation_lists (
    tenant_id text primary key,
    number bigint not null,
    told bigint not null default 0,
    floor timestamptz,
    required text[] not null default '{}'
  )`,
];

/** Forward only, in order. A released one is never changed. */
export const REVOCATION_MIGRATIONS = [RevokedStatements1796800000000, MadeLists1796900000000];
