export { connectDatabase, createDatabase, databaseAnswers, retryWhileAway, type DatabaseOptions } from './database.js';
export { databaseAccess } from './database-access.js';
export type { DatabaseServer } from './database-server.js';
export { DatabaseMonitor } from './database-monitor.js';
export { inTransaction, readFrom, tryAdvisoryLock, withAdvisoryLock, withSharedAdvisoryLock } from './transaction.js';
export { migrationsPending, runMigrations } from './migrations.js';
export { databaseUrl, provisionDatabase, type ServiceAccount } from './provision-database.js';
