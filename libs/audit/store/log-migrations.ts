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

/** What witnesses made of each log, and the checkpoints that they cosigned (C2SP tlog-witness). */
class AuditWitnesses1797500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Whoever sets this forward is the one that asks until then.
    await runner.query(`alter table audit_trees add column witnesses_after timestamptz not null default '-infinity'`);
    await runner.query(`create table audit_witnesses (
      tenant_id text not null,
      incarnation int not null,
      verifier_key text not null,
      state text not null,
      why text not null,
      size bigint not null,
      cosigned_at timestamptz,
      asked_at timestamptz not null,
      failures int not null,
      ask_after timestamptz not null,
      primary key (tenant_id, incarnation, verifier_key)
    )`);
    await runner.query(`create table audit_cosigned (
      tenant_id text not null,
      incarnation int not null,
      size bigint not null,
      note text not null,
      primary key (tenant_id, incarnation, size)
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Of which days each log has said that the retention took them. */
class TakenSegments1797600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table segments add column taken boolean not null default false');
    await runner.query('create index segments_to_take on segments (day) where not taken');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const LOG_MIGRATIONS = [AuditTrees1797300000000, AuditWitnesses1797500000000, TakenSegments1797600000000];
