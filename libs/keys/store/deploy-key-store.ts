import type { EntityManager } from 'typeorm';

/** Is a deploy key on this host, or to be? */
export async function deployKeysNeed(manager: EntityManager, hostId: string): Promise<boolean> {
  const rows = (await manager.query(`select from deploy_keys where host_id = $1 and state <> 'removed' limit 1`, [
    hostId,
  ])) as unknown[];
  return rows.length > 0;
}

/** The host may answer otherwise than before: all of its repositories are looked at now. */
export async function wakeRepositories(manager: EntityManager, hostId: string): Promise<void> {
  await manager.query('update deploy_key_repositories set due_at = now() where host_id = $1', [hostId]);
}
