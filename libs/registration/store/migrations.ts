import { DEFAULT_TENANT } from '@fairlead/contracts';
import { OUTBOX_TABLE_V1 } from '@fairlead/events';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Forward only, in order. A released one is never changed. */
class ClustersAndTokens1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...TABLES_V1, ...OUTBOX_TABLE_V1]) await runner.query(statement);
    await runner.query('insert into tenants (id) values ($1)', [DEFAULT_TENANT]);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V1 = [
  `create table tenants (
    id text primary key,
    created_at timestamptz not null default now()
  )`,
  `create table clusters (
    id uuid primary key,
    tenant_id text not null references tenants (id),
    name text not null unique,
    labels jsonb not null,
    links int not null,
    generation int not null,
    facts jsonb,
    created_at timestamptz not null default now(),
    enrolled_at timestamptz
  )`,
  'create index clusters_of_tenant on clusters (tenant_id, name)',
  `create table bootstrap_tokens (
    id text primary key,
    tenant_id text not null references tenants (id),
    cluster_id uuid not null references clusters (id) on delete cascade,
    secret_hash text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    bound_spki_sha256 text,
    bound_generation int,
    check ((bound_spki_sha256 is null) = (bound_generation is null))
  )`,
  'create index bootstrap_tokens_of_cluster on bootstrap_tokens (cluster_id)',
  `create table import_links (
    id uuid primary key,
    tenant_id text not null references tenants (id),
    cluster_id uuid not null references clusters (id) on delete cascade,
    code_hash text not null unique,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    redeemed_at timestamptz
  )`,
  'create index import_links_of_cluster on import_links (cluster_id)',
  `create table api_tokens (
    id uuid primary key,
    tenant_id text not null references tenants (id),
    name text not null,
    token_hash text not null unique,
    user_name text not null,
    group_names text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    unique (tenant_id, name)
  )`,
];

class TargetsAndClients1795294800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V2) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V2 = [
  // Clusters that exist open nothing, as before.
  `alter table clusters add column targets text[] not null default '{}'`,
  `create table clients (
    id uuid primary key,
    tenant_id text not null references tenants (id),
    name text not null,
    cluster_ids uuid[],
    created_at timestamptz not null default now(),
    not_after timestamptz,
    unique (tenant_id, name)
  )`,
  'create index clients_of_cluster on clients using gin (cluster_ids)',
];

class ApprovalPolicies1795305600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V3) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V3 = [
  'alter table tenants add column approval_policy text',
  'alter table clusters add column approval_policy text',
  `create table enrolment_requests (
    id uuid primary key,
    tenant_id text not null references tenants (id),
    state text not null,
    spki_sha256 text not null unique,
    cluster_id uuid references clusters (id) on delete cascade,
    generation int,
    facts jsonb not null,
    remote_address text not null,
    reason text,
    created_at timestamptz not null,
    last_asked_at timestamptz not null,
    expires_at timestamptz not null,
    decided_at timestamptz,
    check ((state = 'pending') = (decided_at is null)),
    check (state <> 'approved' or (cluster_id is not null and generation is not null))
  )`,
  'create index enrolment_requests_of_tenant on enrolment_requests (tenant_id, state, created_at desc)',
  'create index enrolment_requests_of_address on enrolment_requests (remote_address) where state = $$pending$$',
];

class LastErrors1795309200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table clusters add column last_error jsonb');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class TokensOfRequests1795342200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V5) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V5 = [
  // A token belongs to a key from the moment it was shown, before there is an enrolment.
  'alter table bootstrap_tokens drop constraint bootstrap_tokens_check',
  `alter table bootstrap_tokens add constraint bootstrap_tokens_bound
     check (bound_generation is null or bound_spki_sha256 is not null)`,
  'alter table enrolment_requests add column token_id text references bootstrap_tokens (id) on delete cascade',
  'create index enrolment_requests_of_token on enrolment_requests (token_id)',
  'create index enrolment_requests_of_cluster on enrolment_requests (cluster_id)',
  // Nobody knows which token they showed; the agents ask again, with their tokens.
  'delete from enrolment_requests where state = $$pending$$ and cluster_id is not null',
];

class LastGenerations1795345200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table clusters add column last_generation int not null default 0');
    await runner.query('update clusters set last_generation = generation');
    await runner.query(
      'alter table clusters add constraint clusters_last_generation check (last_generation >= generation)',
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class BoundsOfRequests1795348800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of TABLES_V7) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const TABLES_V7 = [
  `alter table enrolment_requests add column network text not null default ''`,
  // An address of IPv6 counts as itself for the day that its request lasts.
  'update enrolment_requests set network = remote_address',
  'drop index enrolment_requests_of_address',
  'create index enrolment_requests_of_network on enrolment_requests (network) where state = $$pending$$',
  `create index enrolment_requests_decided on enrolment_requests (tenant_id, decided_at desc) where state <> 'pending'`,
];

class InstallersOfClusters1795352400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table clusters add column gitops boolean not null default false');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class EgressOfClusters1795356000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table clusters add column egress text[] not null default '{}'`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class ProofKeysOfTokens1795359600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Of tokens that exist nobody has the secret to derive one from: they are shown whole, as before.
    await runner.query('alter table bootstrap_tokens add column proof_key text');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class ValuesOfManifests1795363200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table clusters add column manifest_values jsonb not null default '{}'`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class TokensOfAccess1795651200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The access service has them now. The only one there was is the administrator's, which is in its file.
    await runner.query('drop table api_tokens');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

class QuotasOfTenants1796904000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table tenants add column quotas jsonb not null default '{}'`);
    await runner.query('alter table tenants add column deleted_at timestamptz');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

export const REGISTRATION_MIGRATIONS = [
  ClustersAndTokens1795200000000,
  TargetsAndClients1795294800000,
  ApprovalPolicies1795305600000,
  LastErrors1795309200000,
  TokensOfRequests1795342200000,
  LastGenerations1795345200000,
  BoundsOfRequests1795348800000,
  InstallersOfClusters1795352400000,
  EgressOfClusters1795356000000,
  ProofKeysOfTokens1795359600000,
  ValuesOfManifests1795363200000,
  TokensOfAccess1795651200000,
  QuotasOfTenants1796904000000,
];
