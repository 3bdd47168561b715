export { connectDatabase, createDatabase, databaseAnswers, type DatabaseOptions } from './database.js';
export { inTransaction, toDatabaseError, withAdvisoryLock } from './transaction.js';
export { migrationsPending, runMigrations } from './migrations.js';
export {
  databaseUrl,
  provisionDatabase,
  type ProvisionDatabaseOptions,
  type ServiceAccount,
} from './provision-database.js';
