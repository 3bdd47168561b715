import { AuditEntry as Entry, AuditFilter, AuditPage, AuditProducer, MAX_AUDIT_ENTRIES } from '@fairlead/contracts';
import { z } from 'zod';
import { json, operationsOf } from './operation.js';

export const AuditEntry = Entry.describe(
  'One thing that happened, as it stands in the tenant’s audit log. `body` is an outcome or intent of a door, a CloudEvent, or what its kind says.',
);
export const AuditEntryList = AuditPage.extend({
  entries: z.array(AuditEntry).max(MAX_AUDIT_ENTRIES),
}).describe(
  'Newest first. `next` is there if there may be more: pass it as `after`. It can be there without entries, where a long log could not be looked through in time.',
);
export const AuditFeed = z
  .object({
    entries: z.array(AuditEntry).max(MAX_AUDIT_ENTRIES).describe('Oldest first.'),
    next: z.int().min(0).describe('Where to go on: pass it as `after`.'),
    size: z.int().min(0).describe('The log’s newest number. As long as `next` is lower, there is more.'),
  })
  .describe('A part of the log, in its order.');
export const AuditProducerList = z.object({
  producers: z.array(AuditProducer).max(500).describe('By name, and the newest epoch of each first.'),
});

const number = z.coerce.number().int();
const limit = number.min(1).max(MAX_AUDIT_ENTRIES).default(100);
/** As a query says it. */
export const AuditQuery = AuditFilter.extend({ status: number.min(100).max(999).optional() });
const Search = AuditQuery.extend({ after: number.min(1).optional(), limit }).strict();
const Feed = AuditQuery.extend({ after: number.min(0).optional(), limit }).strict();

/** Who did what. */
export const auditOperations = operationsOf('audit', {
  searchAudit: {
    route: 'GET /v1/audit/entries',
    summary: 'Search the audit log',
    auth: 'auditor',
    description:
      'All that is said has to hold. `kind`, `verb`, `resource`, `namespace`, `door`, `status`, `proof`, `decision` and `refused` are of requests through the doors, `type` is of events, such as `grant.created`; `text` is whole words, in any order. `decision` is the gateway’s: what it let go on and the agent or the cluster then answered with 401 or 403 is `refused=beyond`, and `refused=anywhere` is both. `id` is what the door answered as `Audit-Id`. As many as fit in one answer.',
    query: Search,
    answers: [json(200, 'Newest first.', AuditEntryList)],
  },
  feedAudit: {
    route: 'GET /v1/audit/feed',
    summary: 'Read the audit log in its order',
    auth: 'auditor',
    description:
      'To export it, or to follow it: without `after` it tells where the log ends, and with `next` of an answer as `after` it goes on there.',
    query: Feed,
    answers: [json(200, 'Oldest first.', AuditFeed)],
  },
  getAuditEntry: {
    route: 'GET /v1/audit/entries/{number}',
    summary: 'Show an entry of the audit log',
    auth: 'auditor',
    description: 'GONE: it is older than what is kept.',
    params: z.object({ number: number.min(1).max(Number.MAX_SAFE_INTEGER) }),
    answers: [json(200, 'The entry.', AuditEntry)],
    errors: ['NOT_FOUND', 'GONE'],
  },
  listAuditProducers: {
    route: 'GET /v1/audit/producers',
    summary: 'Tell how far the audit records of each gateway have come, and which are missing',
    auth: 'auditor',
    description: 'All up to `mark` has come but for the gaps, once each.',
    answers: [json(200, 'Gateways.', AuditProducerList)],
  },
});
