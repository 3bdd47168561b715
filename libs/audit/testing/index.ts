export { auditFixture, disconnected, newEpoch, passage, passages, type AuditFixture } from './audit-fixture.js';
export { FORGET_SIGNED, backUpLog, restoreLog, rewriteLog, type Query } from './rewrite-log.js';
