/** What the public documents of events are made of; tools/drift writes and checks them. No process needs it. */
export { asyncApi, type AsyncApi } from './async-api.js';
export { auditRecords, schemasOfRecords } from './audit-records.js';
export { auditRecordsPage } from './audit-records-page.js';
export { incompatibilities, movedChannels, type Channel, type Schemas } from './compatibility.js';
export { exampleOf } from './example.js';
export type { JsonSchema } from './json-schema.js';
export { ABOUT_EVENTS } from './owners.js';
export { eventsPage } from './page.js';
