import { inTransaction, tryAdvisoryLock, withAdvisoryLock } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';

const nameOf = (tenantId: string): string => `audit-signing:${tenantId}`;

/**
 * Runs `work` while nobody else has `keys` sign this tenant's log, or lets it begin anew. It is the first lock that is taken: rows of logs and trees are locked within, by transactions of their
 * own, and whoever has such a row never waits for this. UNAVAILABLE: somebody has had it for longer than a statement may wait, or the database ended the transaction meanwhile.
 */
export function whileNobodySigns<T>(database: DataSource, tenantId: string, work: () => Promise<T>): Promise<T> {
  return inTransaction(database, async (manager) => {
    await withAdvisoryLock(manager, nameOf(tenantId));
    return work();
  });
}

/** The same, where nobody does now; false, at once, where somebody does. */
export function unlessSomebodySigns(
  database: DataSource,
  tenantId: string,
  work: () => Promise<void>,
): Promise<boolean> {
  return inTransaction(database, async (manager) => {
    if (!(await tryAdvisoryLock(manager, nameOf(tenantId)))) return false;
    await work();
    return true;
  });
}
