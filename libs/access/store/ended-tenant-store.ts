import type { EntityManager } from 'typeorm';

/** Again: no change. */
export async function recordEnded(manager: EntityManager, tenantId: string, at: Date): Promise<void> {
  await manager.query('insert into ended_tenants values ($1, $2) on conflict do nothing', [tenantId, at]);
}

export async function isEnded(manager: EntityManager, tenantId: string): Promise<boolean> {
  const rows: readonly unknown[] = await manager.query('select 1 from ended_tenants where tenant_id = $1', [tenantId]);
  return rows.length > 0;
}

/** Which keys of the bucket `grants` speak of a tenant. */
export async function grantKeysOfTenant(manager: EntityManager, tenantId: string): Promise<string[]> {
  const sql = `select bucket_key as key from grants where tenant_id = $1 and ended_at is null
    union select bucket_key from lockdowns where tenant_id = $1`;
  const rows: readonly { key: string }[] = await manager.query(sql, [tenantId]);
  return rows.map(({ key }) => key);
}

/** Those that point to others first. Logins and sessions go with their issuers. */
const TABLES = ['access_requests', 'grants', 'lockdowns', 'api_tokens', 'issuers', 'known_users'] as const;

/** All that says who somebody of the tenant is, and what they may do. What was revoked stays until its time is over. */
export async function deleteTenantRows(manager: EntityManager, tenantId: string): Promise<void> {
  for (const table of TABLES) await manager.query(`delete from ${table} where tenant_id = $1`, [tenantId]);
}
