export { createInfrastructureAuthority, issueServerCertificate } from './server-certificates.js';
export { OPERATOR, holdersOf } from './nats-holders.js';
export { makeSecrets, randomSecret, type SetupPlan } from './make-secrets.js';
export { createObjectStore, type ObjectStore } from './object-store.js';
export { createFolderStore, giveFolder, type FolderStore } from './folder-store.js';
export { setUpServers, type ServersToSetUp } from './set-up-servers.js';
