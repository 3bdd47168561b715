// For processes without Nest and without a database.
export { ProcessHost, type NatsConnection, type ProcessOptions } from './process-host.js';
export { credentialOf, processSettings, serviceSettings, type ProcessConfig, type ServiceConfig } from './settings.js';
