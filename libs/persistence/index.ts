export { connectDatabase, createDatabase, databaseAnswers, retryWhileAway, type DatabaseOptions } from './database.js';
export { DatabaseMonitor } from './database-monitor.js';
export { inTransaction, readFrom, toDatabaseError, withAdvisoryLock, withSharedAdvisoryLock } from './transaction.js';
export { migrationsPending, runMigrations } from './migrations.js';
export {
  databaseUrl,
  provisionDatabase,
  type ProvisionDatabaseOptions,
  type ServiceAccount,
} from './provision-database.js';
