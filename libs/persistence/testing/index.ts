/** For tests of whoever keeps a schema of its own. */
export { emptyTables } from './empty-tables.js';
export { serviceDatabase, type ServiceDatabase, type ServiceSchema } from './service-database.js';
