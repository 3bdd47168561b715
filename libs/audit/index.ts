/** The audit log of each tenant: every record that gateways spooled and every event, once (docs/adr/0073-the-audit-service-and-what-it-keeps.md). */
import { OutboxRow } from '@fairlead/events';

export { AUDIT_MIGRATIONS } from './store/migrations.js';
export { type AppendToLog } from './store/entries.js';
export { countNothing, type Counts, type Part, type Runtime } from './feature/runtime.js';
export { startAudit, type AuditOptions, type StartedAudit } from './feature/start-audit.js';
export { AUDIT_BUCKETS } from './feature/projected-buckets.js';
export {
  meterNothing,
  type DeliveryOutcome,
  type WebhookLag,
  type WebhookMeter,
} from './feature/webhooks/webhook-meter.js';
export type { WebhookOptions } from './feature/webhooks/webhook-runtime.js';
export type { RetryRules } from './domain/delivery-retry.js';
export { appendToTree } from './feature/audit-tree.js';
export { askWitnesses, type AskWitnessesOptions, type AskedWitness } from './feature/ask-witnesses.js';
export { witnessesToAsk } from './feature/witness-file.js';
export { signTrees } from './feature/sign-trees.js';

/** Of entries there is none: these are many, and are never changed one by one. */
export const AUDIT_ENTITIES = [OutboxRow];
