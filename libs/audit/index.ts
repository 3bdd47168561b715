/** The audit log of each tenant: every record that gateways spooled and every event, once (docs/adr/0073-the-audit-service-and-what-it-keeps.md). */
export { AUDIT_MIGRATIONS } from './store/migrations.js';
export { type AppendToLog } from './store/entries.js';
export { countNothing, type Counts, type Part, type Runtime } from './feature/runtime.js';
export { startAudit, type AuditOptions, type StartedAudit } from './feature/start-audit.js';
export { appendToTree } from './feature/audit-tree.js';
export { askWitnesses, type AskWitnessesOptions, type AskedWitness } from './feature/ask-witnesses.js';
export { witnessesToAsk } from './feature/witness-file.js';
export { signTrees } from './feature/sign-trees.js';
