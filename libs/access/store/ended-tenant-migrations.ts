import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tenants that were deleted; their names are not used again. */
class EndedTenants1796904000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table ended_tenants (tenant_id text primary key, ended_at timestamptz not null)');
  }

  async down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Forward only, in order. A released one is never changed. */
export const ENDED_TENANT_MIGRATIONS = [EndedTenants1796904000000];
