export { runService, type RpcModule, type ServiceDefinition, type ServiceHost } from './run-service.js';
export { withDatabase, type ServiceSchema } from './service-schema.js';
export * from './process.js';
