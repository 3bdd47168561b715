import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Git hosts, their keys, and the keys of clusters on them. */
export class GitHosts1795600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // In the titles of deploy keys: two installations that share a repository must not take each other's for their own.
    await runner.query('create table installation (name text primary key)');
    await runner.query(`insert into installation select 'fl-' || left(gen_random_uuid()::text, 8)`);
    await runner.query(`create table git_hosts (
      id uuid primary key,
      tenant_id text not null,
      name text not null,
      kind text not null check (kind in ('github', 'gitlab', 'gitea', 'manual')),
      url text,
      ssh_host text not null,
      ssh_port int not null,
      ca_pem text,
      create_repositories boolean not null,
      sealed_token bytea,
      token_expires_at timestamptz,
      expiry_told boolean not null default false,
      checked_at timestamptz,
      findings jsonb not null default '[]',
      problem_code text,
      problem_message text,
      retry_at timestamptz,
      failures int not null default 0,
      scanned_at timestamptz,
      scan_due_at timestamptz not null default now(),
      revision int not null,
      created_at timestamptz not null default now(),
      unique (tenant_id, name),
      check ((kind = 'manual') = (sealed_token is null)),
      check ((kind = 'manual') = (url is null))
    )`);
    await runner.query(`create table git_host_keys (
      host_id uuid not null references git_hosts (id) on delete cascade,
      fingerprint text not null,
      type text not null,
      public_key text not null,
      state text not null check (state in ('proposed', 'approved', 'withdrawn')),
      first_seen_at timestamptz not null,
      last_seen_at timestamptz,
      decided_by text,
      primary key (host_id, fingerprint)
    )`);
    await deployKeyTables(runner);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** The highest revision of a desired state that was signed for each cluster. Kept for ever: an older one must never be signed. */
export class SignedStates1795900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table signed_states (
      cluster_id uuid primary key,
      revision bigint not null,
      document_digest text not null,
      source_digest text,
      signed_at timestamptz not null default now()
    )`);
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

async function deployKeyTables(runner: QueryRunner): Promise<void> {
  // Who works on a repository's keys, and when it is due: one process at a time.
  await runner.query(`create table deploy_key_repositories (
    host_id uuid not null references git_hosts (id) on delete cascade,
    path text not null,
    due_at timestamptz not null default now(),
    lease uuid,
    leased_until timestamptz,
    -- How many requests it took to read its keys.
    pages int not null default 1,
    primary key (host_id, path)
  )`);
  await runner.query('create index deploy_key_repositories_due on deploy_key_repositories (due_at)');
  await runner.query(`create table deploy_keys (
    id uuid primary key,
    tenant_id text not null,
    cluster_id uuid not null,
    repository_id uuid not null,
    number int not null,
    cluster_name text not null,
    host_id uuid not null,
    path text not null,
    public_key text not null,
    fingerprint text not null,
    state text not null check (state in ('wanted', 'present', 'by-hand', 'refused', 'removing', 'removed')),
    superseded boolean not null default false,
    instructions text,
    problem_code text,
    problem_message text,
    remote_id text,
    seen_at timestamptz,
    restored int not null default 0,
    state_since timestamptz not null,
    created_at timestamptz not null default now(),
    foreign key (host_id, path) references deploy_key_repositories (host_id, path) on delete cascade
  )`);
  await runner.query(`create unique index deploy_keys_one_of_a_number
    on deploy_keys (tenant_id, repository_id, cluster_id, number) where not superseded`);
  await runner.query('create index deploy_keys_cluster on deploy_keys (tenant_id, cluster_id)');
  await runner.query('create index deploy_keys_repository on deploy_keys (host_id, path)');
}
