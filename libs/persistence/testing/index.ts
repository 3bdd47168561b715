/** For tests of whoever keeps a schema of its own. */
export { serviceDatabase, type ServiceDatabase, type ServiceSchema } from './service-database.js';
