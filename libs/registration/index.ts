import { OutboxRow } from '@fairlead/events';
import * as entities from './store/entities.js';

export { renderImportManifest, renderInstallerManifest, type ImportManifestInput } from './domain/import-manifest.js';
export { REGISTRATION_MIGRATIONS } from './store/migrations.js';
export { ApprovalPolicies } from './feature/approval-policies.js';
export { ApprovalWebhook, type WebhookOptions } from './feature/approval-webhook.js';
export { BootstrapTokens } from './feature/bootstrap-tokens.js';
export { Clients } from './feature/clients.js';
export { Clusters, type PresenceOf } from './feature/clusters.js';
export { EnrolmentRequests } from './feature/enrolment-requests.js';
export { Enrolments, type Approval, type SignAgent } from './feature/enrolments.js';
export { ImportLinks, type ImportLinksOptions } from './feature/import-links.js';
export { meterEnrolments } from './feature/meter-enrolments.js';
export { OpenPassages } from './feature/open-passages.js';
export { LinkProblems } from './feature/link-problems.js';
export { REGISTRATION_BUCKETS } from './feature/projected-buckets.js';
export { RegistrationModule, type RegistrationParts } from './feature/registration.module.js';
export { reportDuplicate } from './feature/report-duplicate.js';
export { ReportedFacts } from './feature/reported-facts.js';
export type { Runtime } from './feature/runtime.js';
export { StaticIdentities, type StaticIdentitiesOptions } from './feature/static-identities.js';
export { Tenants } from './feature/tenants.js';
export { watchPresence, type WatchedPresence } from './feature/watch-presence.js';

export const REGISTRATION_ENTITIES = [...Object.values(entities), OutboxRow];
