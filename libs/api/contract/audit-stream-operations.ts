import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { AuditQuery } from './audit-operations.js';
import { operationsOf, streamed } from './operation.js';

const after = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const Tail = AuditQuery.extend({ after: after.optional().describe('Begin behind this number, not at the end.') });
const Export = AuditQuery.extend({
  after: after.default(0).describe('Only entries with a higher number.'),
  format: z.enum(['ndjson', 'csv']).optional().describe('Default: what `Accept` names first, or else ndjson.'),
});

/** The audit log as it comes, and as a whole. */
export const auditStreamOperations = operationsOf('audit', {
  tailAudit: {
    route: 'GET /v1/audit/tail',
    summary: 'Follow the audit log',
    auth: 'auditor',
    description:
      'Server-sent events: one for each entry, whose id is its number and whose data is an AuditEntry. A comment `at N` with the id N says that all up to N was sent; it comes as a heartbeat, too. The event `end` says why the stream ends, in `code` and `detail`: connect again if it is `retryable`.',
    query: Tail.strict(),
    resumable: true,
    answers: [streamed('Events, until whoever asks or the server ends it.', ['text/event-stream'])],
    errors: ['DRAINING'],
  },
  exportAudit: {
    route: 'GET /v1/audit/export',
    summary: 'Export the audit log',
    auth: 'auditor',
    description:
      'All that stands in it when it is asked for, in its order. Only a whole export has a trailer: as NDJSON the line `{"complete":true,"count":…,"through":…}`, as CSV a row of `complete`, the count and the number. One that breaks off has none, and its connection is reset: go on behind the last number. In CSV, a text that a spreadsheet would take for a formula has an apostrophe before it.',
    query: Export.strict(),
    answers: [streamed('Entries, and the trailer.', ['application/x-ndjson', 'text/csv'])],
    errors: ['DRAINING'],
    answersWithinMs: 60_000,
  },
});

/** The number that a listener heard last; undefined: none, or one that is none of ours. */
export function lastEventId(headers: IncomingHttpHeaders): number | undefined {
  const given = headers['last-event-id'];
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}
