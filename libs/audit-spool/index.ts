export { AuditSpool, type AuditSpoolOptions } from './audit-spool.js';
export type { SpooledRecords } from './batch.js';
export type { Keep } from './room.js';
