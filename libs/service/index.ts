export {
  runService,
  serveService,
  type PreparedService,
  type RpcModule,
  type ServiceDefinition,
  type ServiceHost,
} from './run-service.js';
export { withDatabase, type Database, type ServiceSchema } from './service-schema.js';
export * from './process.js';
