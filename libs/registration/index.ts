import { OutboxRow } from '@fairlead/events';
import { ApiTokenRow, BootstrapTokenRow, ClientRow, ClusterRow, ImportLinkRow } from './store/entities.js';

export { renderImportManifest, type ImportManifestInput } from './domain/import-manifest.js';
export { REGISTRATION_MIGRATIONS } from './store/migrations.js';
export { ApiTokens, checkAdminToken } from './feature/api-tokens.js';
export { Clients, type SignClient } from './feature/clients.js';
export { Clusters, type PresenceOf } from './feature/clusters.js';
export { Enrolments, type SignAgent } from './feature/enrolments.js';
export { ImportLinks, type ImportLinksOptions } from './feature/import-links.js';
export { REGISTRATION_BUCKETS } from './feature/projected-buckets.js';
export { RegistrationModule, type RegistrationParts } from './feature/registration.module.js';
export type { Runtime } from './feature/runtime.js';
export { watchPresence, type WatchedPresence } from './feature/watch-presence.js';

export const REGISTRATION_ENTITIES = [ApiTokenRow, BootstrapTokenRow, ClientRow, ClusterRow, ImportLinkRow, OutboxRow];
