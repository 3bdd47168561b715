import type { AuditEntry } from '@fairlead/contracts';

/** Of a tenant's log: that somebody was granted something. */
export const auditEntry = (number: number): AuditEntry => ({
  number,
  at: `2026-01-0${((number - 1) % 9) + 1}T10:00:00.000Z`,
  recordedAt: `2026-01-0${((number - 1) % 9) + 1}T10:00:01.000Z`,
  kind: 'event',
  source: 'access',
  user: 'corp:alice',
  cluster: '',
  action: `grant.created grant/${number}`,
  decision: '',
  body: { type: 'dev.fairlead.grant.created.v1' },
});
