import { z } from 'zod';
import { PassageKind } from './open-passages.js';
import { ClusterName, CredentialName, IsoTime, UserName } from './primitives.js';
import { rpcOf } from './rpc.js';

/**
 * What an entry of a tenant's audit log is about. `passage`: of a door. `event`: something was told. `lost`: a gateway counted what it could not keep. `gap`: numbers
 * of a gateway that never came, or came late. `rules`: a gateway goes by other rules of what it puts on record. `handshakes`: connections that ended in their handshake, counted. `unknown`: what began and nobody can say the end of. `unreadable`: something that no schema here reads.
 */
export const AuditEntryKind = z.enum([
  'passage',
  'event',
  'lost',
  'gap',
  'rules',
  'handshakes',
  'unknown',
  'unreadable',
  'retention',
  'begun-anew',
]);
export type AuditEntryKind = z.infer<typeof AuditEntryKind>;

/** Numbers of a tenant's log begin with 1 and go up by one. */
const EntryNumber = z.int().min(1);

export const AuditEntry = z.object({
  number: EntryNumber,
  /** When it happened, as who handed it on says. */
  at: IsoTime,
  /** When it became an entry. Never goes down from one number to the next. */
  recordedAt: IsoTime,
  kind: AuditEntryKind,
  /** Who handed it on, as NATS vouches for: a gateway's credential, a service's role, or `audit`. */
  source: z.string().max(63),
  user: z.string().max(256),
  cluster: z.string().max(253),
  /** In a few words: `get pods -n shop`, `grant.created`. */
  action: z.string().max(512),
  decision: z.enum(['allowed', 'refused', '']),
  /** An `AuditRecord`, a CloudEvent, or what its kind says. Null: it was erased. */
  body: z.record(z.string(), z.unknown()).nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Which entries; all that is said has to hold. */
export const AuditFilter = z.object({
  /** At this moment or later. */
  from: IsoTime.optional(),
  /** Before this moment. */
  to: IsoTime.optional(),
  entry: AuditEntryKind.optional(),
  /** All about one passage, by its `Audit-Id`; or the event of this id. */
  id: z.uuid().optional(),
  trace: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'a trace id is 32 hexadecimal digits')
    .optional(),
  /** Its name, or its id, which some events have alone. */
  cluster: ClusterName.optional(),
  user: UserName.optional(),
  /** Where who asked came from, exactly. */
  address: z.string().min(1).max(64).optional(),
  /** By what they proved who they are: the id of a token, of the login that it is of, or the serial number of a certificate. */
  proof: z.string().min(1).max(128).optional(),
  door: z.string().min(1).max(32).optional(),
  /** Of a passage. */
  kind: PassageKind.optional(),
  verb: z.string().min(1).max(64).optional(),
  resource: z.string().min(1).max(253).optional(),
  namespace: z.string().min(1).max(253).optional(),
  /** Of the gateway: what it allowed may have been refused by whoever is beyond it. */
  decision: z.enum(['allowed', 'refused']).optional(),
  /** Who was turned away. `door`: by the gateway; `beyond`: let go on by it, and then answered 401 or 403, as an agent or the cluster's own rights do; `anywhere`: either. */
  refused: z.enum(['door', 'beyond', 'anywhere']).optional(),
  /** That the answer to a passage had. */
  status: z.int().min(100).max(999).optional(),
  /** Of an event, without what all have in common: `grant.created`. */
  type: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'write the type of an event as grant.created')
    .max(128)
    .optional(),
  /** All of these words, whole ones, in whatever is said. */
  text: z.string().min(1).max(256).optional(),
});
export type AuditFilter = z.infer<typeof AuditFilter>;

/** In one answer, if they fit. */
export const MAX_AUDIT_ENTRIES = 200;
const Entries = z.array(AuditEntry).max(MAX_AUDIT_ENTRIES);
const limit = z.int().min(1).max(MAX_AUDIT_ENTRIES).default(100);

export const AuditPage = z.object({
  entries: Entries,
  /** There may be more: pass it as `after`. Also where nothing was found in time: a log may be long. */
  next: EntryNumber.optional(),
});
export type AuditPage = z.infer<typeof AuditPage>;

const ProducerGap = z.object({
  from: EntryNumber,
  to: EntryNumber,
  foundAt: IsoTime,
  /** The log says so. Before that it is waited for. */
  announced: z.boolean(),
});

/** How far what one spool of a gateway numbered has come. */
export const AuditProducer = z.object({
  producer: CredentialName,
  epoch: z.string().max(32),
  /** Everything up to here has come but for the gaps; 0: nothing yet. */
  mark: z.int().min(0),
  firstAt: IsoTime,
  lastAt: IsoTime,
  /** There is no newer epoch of this gateway. */
  current: z.boolean(),
  /** Those with the lowest numbers; `moreGaps` says how many are not among them. */
  gaps: z.array(ProducerGap).max(20),
  moreGaps: z.int().min(0),
});
export type AuditProducer = z.infer<typeof AuditProducer>;

const rpc = rpcOf('audit');

/** What the audit service answers, of the tenant of the subject. */
export const auditRpc = {
  /** Newest first. `after`: only entries with a lower number. */
  search: rpc('search', ['api'], AuditFilter.extend({ after: EntryNumber.optional(), limit }), AuditPage, 8_000),
  /**
   * Oldest first, of those with a higher number than `after`; without it nothing but where the log ends. `next` is where to go on, whether or not something was found, `size` the log's newest number: where they are the same,
   * all was read that was there.
   */
  read: rpc(
    'read',
    ['api'],
    AuditFilter.extend({ after: z.int().min(0).optional(), limit }),
    z.object({ entries: Entries, next: z.int().min(0), size: z.int().min(0) }),
    8_000,
  ),
  /** NOT_FOUND; GONE: it was older than what is kept. */
  get: rpc('get', ['api'], z.object({ number: EntryNumber }), AuditEntry),
  /** By name, and the newest epoch of each first. */
  producers: rpc('producers', ['api'], z.object({}), z.object({ producers: z.array(AuditProducer).max(500) })),
} as const;
