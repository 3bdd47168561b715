import { OUTBOX_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { WEBHOOK_MIGRATIONS } from './webhook-migrations.js';
import { GitHosts1795600000000, SignedStates1795900000000 } from './git-migrations.js';

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

class Rotation1795400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table authorities
      drop constraint authorities_kind_key,
      alter column sealed_key drop not null,
      add column state text not null default 'active' check (state in ('next', 'active', 'retiring', 'retired')),
      add column root_id uuid references authorities (id),
      add column cross_pem text,
      add column state_since timestamptz not null default now()`);
    await runner.query(`update authorities issuing set root_id = root.id from authorities root
      where issuing.kind like '%-issuing' and root.kind = replace(issuing.kind, '-issuing', '-root')`);
    await runner.query(`create unique index authorities_one_of_a_state on authorities (kind, state)
      where state <> 'retired'`);
    await runner.query(`create table trust_bundles (
      version int primary key,
      bundle text not null,
      signer_chain text[] not null,
      signature text not null,
      created_at timestamptz not null default now(),
      signed_at timestamptz not null
    )`);
    await runner.query(`create table trust_acknowledgements (
      cluster_id uuid primary key,
      version int not null
    )`);
    await runner.query(`create table issuing_requests (
      spki_sha256 text primary key,
      sealed_key bytea not null,
      created_at timestamptz not null default now()
    )`);
    await runner.query('alter table certificates add column authority_id uuid references authorities (id)');
    await runner.query(`update certificates set authority_id = authority.id from authorities authority
      where authority.kind = case certificates.purpose when 'serving' then 'serving-issuing' else 'identity-issuing' end`);
    await runner.query('alter table certificates alter column authority_id set not null');
    await runner.query('create index certificates_end on certificates (not_after)');
    await runner.query('drop index certificates_cluster');
    await runner.query(
      'create index certificates_cluster on certificates (cluster_id, generation desc, not_before desc, created_at desc)',
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class DeletedClusters1795500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table revocations add column cluster_deleted boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class GatewayCertificates1795700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create index certificates_gateways on certificates (not_after desc, not_before desc, serial desc)
      where purpose = 'gateway'`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class LinkEndpoints1796400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table link_endpoints (
      address text primary key,
      tenant_id text not null,
      server_name text,
      region text,
      weight int not null,
      state text not null check (state in ('active', 'draining')),
      created_at timestamptz not null default now()
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class AccessRevocationLists1796800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table access_revocation_lists (
      tenant_id text primary key,
      number bigint not null,
      document bytea not null,
      envelope bytea not null,
      issuers text not null,
      signed_at timestamptz not null
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** As the lists are named everywhere else. */
class StatementRevocationLists1796900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table access_revocation_lists rename to statement_revocation_lists');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class AuditLogs1797200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table audit_logs (
      tenant_id text primary key,
      incarnation int not null,
      size bigint not null,
      root text not null,
      sealed_key bytea not null,
      note text not null,
      verifier_key text not null,
      signed_at timestamptz not null
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

export const KEYS_MIGRATIONS = [
  AuthoritiesAndCertificates1795200000000,
  Revocations1795300000000,
  Rotation1795400000000,
  DeletedClusters1795500000000,
  GitHosts1795600000000,
  GatewayCertificates1795700000000,
  SignedStates1795900000000,
  LinkEndpoints1796400000000,
  AccessRevocationLists1796800000000,
  StatementRevocationLists1796900000000,
  AuditLogs1797200000000,
  ...WEBHOOK_MIGRATIONS,
];
