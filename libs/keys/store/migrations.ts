import { OUTBOX_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Forward only, in order. A released one is never changed. */
class AuthoritiesAndCertificates1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table authorities (
      id uuid primary key,
      tenant_id text not null,
      kind text not null unique,
      certificate_pem text not null,
      sealed_key bytea not null,
      not_after timestamptz not null,
      created_at timestamptz not null default now()
    )`);
    await runner.query(`create table certificates (
      serial text primary key,
      tenant_id text not null,
      purpose text not null,
      names text[] not null,
      cluster_id uuid,
      generation int,
      spki_sha256 text not null,
      not_before timestamptz not null,
      not_after timestamptz not null,
      created_at timestamptz not null default now()
    )`);
    await runner.query('create index certificates_cluster on certificates (cluster_id, generation desc)');
    for (const statement of OUTBOX_TABLE_V1) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class Revocations1795300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table revocations (
      id uuid primary key,
      tenant_id text not null,
      serial text unique references certificates (serial),
      cluster_id uuid unique,
      through_generation int,
      reason text not null,
      revoked_at timestamptz not null,
      check ((serial is null) <> (cluster_id is null)),
      check ((cluster_id is null) = (through_generation is null))
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

export const KEYS_MIGRATIONS = [AuthoritiesAndCertificates1795200000000, Revocations1795300000000];
