import { z } from 'zod';
import { LostPassages } from './audit.js';
import { IsoTime } from './primitives.js';

const EntryNumber = z.int().min(1);
const Epoch = z.string().max(64);
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** Of records that one gateway numbered; wide enough for whatever else numbers something. */
const ofSpool = { producer: z.string().min(1).max(63), epoch: Epoch };
const range = { from: EntryNumber, to: EntryNumber };

/** Records of a gateway that have not come, or came after all; or a spool that began without what the one before it had. */
const GapEntry = z.union([
  z.object({ state: z.literal('missing'), ...ofSpool, ...range }),
  z.object({ state: z.literal('filled'), ...ofSpool, ...range }),
  z.object({ state: z.literal('new-epoch'), ...ofSpool, previousEpoch: Epoch, previousMark: z.int().min(0) }),
]);

/** A passage began, and every process is gone that could say how it ended. */
const UnknownEntry = z.object({
  /** `id` of the intent. */
  passageId: z.uuid(),
  /** Number of the entry of the intent. */
  intent: z.int().min(0),
  ...ofSpool,
  beganAt: IsoTime,
});

/** What a gateway lost of whichever tenant, as each tenant is told that it may have been its own: the sum of one batch. */
const LostEntry = z.union([
  LostPassages,
  z.object({ phase: z.literal('lost'), ...ofSpool, ...range, count: EntryNumber, why: z.string().max(256) }),
]);

/** A record of a gateway, or a whole message, that no schema reads; `count`: several records, as each tenant is told of them. */
const UnreadableEntry = z.union([
  z.object({ ...ofSpool, seq: EntryNumber, why: z.string().max(1_024) }),
  z.object({ ...ofSpool, ...range, count: EntryNumber, why: z.string().max(1_024) }),
  z.object({
    stream: z.enum(['audit', 'events']),
    subject: z.string().max(512),
    sequence: z.int().min(0),
    bytes: z.int().min(0),
    sha256: Sha256,
  }),
]);

/** The bodies of these entries are no longer kept; their leaves are. */
const RetentionEntry = z.object({
  statement: z.literal('retention'),
  first: EntryNumber,
  last: EntryNumber,
  /** Of the log, then. */
  size: z.int().min(0),
  firstDay: z.iso.date(),
  lastDay: z.iso.date(),
});

/** The log could not go on, and goes on under another origin. */
const BegunAnewEntry = z.object({
  statement: z.literal('begun-anew'),
  incarnation: z.int().min(2),
  kept: z.int().min(0),
  signed: z.int().min(0),
  last: z.object({
    origin: z.string().max(512),
    size: z.int().min(0),
    verifierKey: z.string().max(1_024),
    checkpoint: z.string().max(4_096),
  }),
  by: z.string().max(256),
});

/** What the audit service says itself in an entry, by the kind of that. Part of the public contract: docs/audit-records.md. */
export const AUDIT_SERVICE_ENTRIES = {
  lost: LostEntry,
  gap: GapEntry,
  unknown: UnknownEntry,
  unreadable: UnreadableEntry,
  retention: RetentionEntry,
  'begun-anew': BegunAnewEntry,
} as const;
