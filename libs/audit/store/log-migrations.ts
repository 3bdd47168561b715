import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A tree for each tenant, and its tiles. Their paths are C2SP tlog-tiles' without the width: of each tile and bundle there is the widest one. */
class AuditTrees1797300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table audit_trees (
      tenant_id text primary key,
      incarnation int not null default 1,
      size bigint not null default 0,
      root bytea not null,
      signed_size bigint not null default 0
    )`);
    await runner.query(`create table audit_tiles (
      tenant_id text not null,
      incarnation int not null,
      kind smallint not null,
      index bigint not null,
      bytes bytea not null,
      primary key (tenant_id, incarnation, kind, index)
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const LOG_MIGRATIONS = [AuditTrees1797300000000];
