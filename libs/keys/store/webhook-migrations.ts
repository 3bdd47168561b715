import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of each subscriber one that signs until it is replaced, and at most one more that signs beside it for a while. */
class WebhookSecrets1798100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table webhook_secrets (
      id uuid primary key,
      subscriber_id uuid not null,
      tenant_id text not null,
      sealed_secret bytea not null,
      created_at timestamptz not null,
      signs_until timestamptz
    )`);
    await runner.query(
      'create unique index webhook_secrets_by_subscriber on webhook_secrets (subscriber_id, (signs_until is null))',
    );
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Of each subscriber one that signs until it is replaced, and those before it that still sign beside it, each to its own end. */
class SecretsThatEnd1798300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('drop index webhook_secrets_by_subscriber');
    await runner.query(
      'create unique index webhook_secrets_current on webhook_secrets (subscriber_id) where signs_until is null',
    );
    await runner.query('create index webhook_secrets_by_subscriber on webhook_secrets (subscriber_id)');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const WEBHOOK_MIGRATIONS = [WebhookSecrets1798100000000, SecretsThatEnd1798300000000];
