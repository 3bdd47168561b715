export { AuditSpool, type AuditSpoolOptions } from './audit-spool.js';
export type { SpooledRecords } from './spool-reader.js';
export type { Keep } from './room.js';
