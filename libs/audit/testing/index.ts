export { auditFixture, disconnected, newEpoch, type AuditFixture } from './audit-fixture.js';
export { FORGET_SIGNED, backUpLog, restoreLog, rewriteLog, type Query } from './rewrite-log.js';
