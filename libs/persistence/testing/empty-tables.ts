import { QueryFailedError, type DataSource } from 'typeorm';

const DEADLOCK = '40P01';
const TRIES = 10;

/**
 * Empties these, and whatever refers to them. Processes of the service may run: where one of them locks the tables in another order, Postgres
 * ends one of the two, and this tries again.
 */
export async function emptyTables(database: DataSource, ...tables: readonly string[]): Promise<void> {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      await database.query(`truncate ${tables.join(', ')} cascade`);
      return;
    } catch (error) {
      if (left === 0 || !isDeadlock(error)) throw error;
    }
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof QueryFailedError && (error.driverError as { code?: string }).code === DEADLOCK;
}
