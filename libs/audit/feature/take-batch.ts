import { DEFAULT_TENANT, isPassage, type AuditRecord, type AuditedPassage } from '@fairlead/contracts';
import type { EntityManager } from 'typeorm';
import { entryOfRecord, logOf, outcomeFacet, ownEntry, type NewEntry } from '../domain/entry.js';
import type { ReadBatch } from '../domain/read-batch.js';
import { advance, type NumberRange } from '../domain/sequence.js';
import { logsThereAre, type Numbered } from '../store/entries.js';
import { addIntents, closeIntents, hasEntryWith, loseOutcomes, type OpenIntent } from '../store/intents.js';
import { lockProducer, saveSequence, type LockedProducer } from '../store/producers.js';
import { addEntries } from './add-entries.js';
import type { Runtime } from './runtime.js';

/** Says of itself in entries, where nobody else does. */
export const AUDIT_SOURCE = 'audit';

/**
 * Takes what a gateway's spool handed on, in one transaction: records that came before are dropped, by their numbers and however long ago that was. Numbers that were left out are noted, and
 * announced later if they do not come.
 */
export async function takeBatch(
  runtime: Runtime,
  manager: EntityManager,
  producer: string,
  batch: ReadBatch,
): Promise<void> {
  const now = runtime.now();
  const locked = await lockProducer(manager, producer, batch.epoch, now);
  const missing = locked.gaps.map(({ from, to }) => ({ from, to }));
  const came = { from: batch.firstSeq, to: batch.firstSeq + batch.records.length - 1 };
  const { fresh, sequence } = advance({ mark: locked.mark, missing }, came);
  const read = fresh.flatMap((range) => recordsIn(batch, range));
  runtime.counts.repeated('audit', batch.records.length - read.length);
  const announcements = announceFilled(locked, fresh, now);
  const about = announcements.length > 0 ? await toEveryLog(manager, announcements) : [];
  const own = read.map((each) => entryOf(each, locked, now));
  const entries = [...about, ...own, ...(await toOtherLogs(manager, own, sumsOfLost(read, locked, now)))];
  const numbered = await addEntries(runtime, manager, entries);
  await followIntents(manager, locked, read, numbered.slice());
  await saveSequence(manager, locked, { ...sequence, ends: batch.ends }, now);
}

interface NumberedRecord {
  readonly seq: number;
  readonly read: ReadBatch['records'][number];
}

function recordsIn(batch: ReadBatch, { from, to }: NumberRange): NumberedRecord[] {
  const first = from - batch.firstSeq;
  return batch.records.slice(first, to - batch.firstSeq + 1).map((read, at) => ({ seq: from + at, read }));
}

function entryOf({ seq, read }: NumberedRecord, { producer, epoch }: LockedProducer, now: Date): NewEntry {
  if (read.record) return entryOfRecord(read.record, producer);
  return ownEntry('unreadable', {
    tenantId: DEFAULT_TENANT,
    at: now,
    source: producer,
    action: `record ${seq} of ${producer} cannot be read`,
    body: { producer, epoch, seq, why: read.why },
  });
}

/** What nobody knows of whom it was is in the installation's log one by one; and this is for all others, each once of a batch, which a gateway might fill with such records. */
function sumsOfLost(read: readonly NumberedRecord[], { producer, epoch }: LockedProducer, now: Date): NewEntry[] {
  const lost = read.flatMap(({ seq, read: { record } }) => (isOfAnybody(record) ? [{ seq, record }] : []));
  const unreadable = read.filter(({ read: { record } }) => record === null);
  const about = { tenantId: DEFAULT_TENANT, source: producer };
  const entries: NewEntry[] = [];
  const [first] = lost;
  if (first) {
    const count = lost.reduce((sum, { record }) => sum + record.count, 0);
    const body = { phase: 'lost', producer, epoch, ...span(lost), count, why: first.record.why };
    const action = `${count} records lost, of whichever tenant: ${first.record.why}`;
    entries.push(ownEntry('lost', { ...about, at: new Date(first.record.at), action, body }));
  }
  if (unreadable.length > 0) {
    const count = unreadable.length;
    const body = { producer, epoch, ...span(unreadable), count, why: unreadable[0]?.read.why };
    const action = `${count} records of ${producer}, of whichever tenant, cannot be read`;
    entries.push(ownEntry('unreadable', { ...about, at: now, action, body }));
  }
  return entries;
}

function isOfAnybody(record: AuditRecord | null): record is Extract<AuditRecord, { phase: 'lost' }> {
  return record?.phase === 'lost' && record.what === 'records' && record.tenantId === DEFAULT_TENANT;
}

/** Between which numbers they are. */
function span(numbered: readonly { readonly seq: number }[]): { from: number | undefined; to: number | undefined } {
  return { from: numbered[0]?.seq, to: numbered.at(-1)?.seq };
}

/** Of numbers of which the log says that they are missing. */
export function announceFilled(
  { producer, epoch, gaps }: LockedProducer,
  fresh: readonly NumberRange[],
  now: Date,
): NewEntry[] {
  const filled = fresh.filter(({ from, to }) => gaps.some((gap) => gap.announced && gap.from <= from && to <= gap.to));
  return filled.map(({ from, to }) =>
    ownEntry('gap', {
      tenantId: DEFAULT_TENANT,
      at: now,
      source: AUDIT_SOURCE,
      action: `records ${from} to ${to} of ${producer} came after all`,
      body: { state: 'filled', producer, epoch, from, to },
    }),
  );
}

/** What a gateway lost may have been of any tenant. */
export async function toEveryLog(manager: EntityManager, entries: readonly NewEntry[]): Promise<NewEntry[]> {
  const logs = await logsThereAre(manager, DEFAULT_TENANT);
  return logs.flatMap((tenantId) => entries.map((entry) => ({ ...entry, tenantId })));
}

/** To all but the installation's, those included that begin with these. */
async function toOtherLogs(
  manager: EntityManager,
  beginning: readonly NewEntry[],
  entries: readonly NewEntry[],
): Promise<NewEntry[]> {
  if (entries.length === 0) return [];
  const logs = new Set([
    ...(await logsThereAre(manager, DEFAULT_TENANT)),
    ...beginning.map(({ tenantId }) => tenantId),
  ]);
  logs.delete(DEFAULT_TENANT);
  return [...logs].flatMap((tenantId) => entries.map((entry) => ({ ...entry, tenantId })));
}

async function followIntents(
  manager: EntityManager,
  locked: LockedProducer,
  read: readonly NumberedRecord[],
  numbered: readonly Numbered[],
): Promise<void> {
  const passages = read.flatMap(({ seq, read: { record } }) => (record && isPassage(record) ? [{ seq, record }] : []));
  const intents = passages.filter(({ record }) => record.phase === 'intent');
  const outcomes = new Set(passages.filter(({ record }) => record.phase === 'outcome').map(({ record }) => record.id));
  const open = intents.filter(({ record }) => !outcomes.has(record.id));
  const numberOf = new Map(numbered.map(({ entry, number }) => [entry.body, number]));
  const rowOf = ({ record }: (typeof open)[number]): OpenIntent =>
    intentOf(record, locked, numberOf.get(JSON.stringify(record)) ?? 0);
  // How a passage ended has a higher number than that it was about to begin: of what was missing until now it may be in the log already.
  const late = open.filter(({ seq }) => seq <= locked.mark).map(rowOf);
  const rows = open.filter(({ seq }) => seq > locked.mark).map(rowOf);
  await addIntents(manager, [...(await withoutOutcome(manager, late)), ...rows]);
  await closeIntents(manager, locked.producer, [...outcomes]);
  const lost = read.flatMap(({ read: { record } }) => (record?.phase === 'lost' ? (record.passages ?? []) : []));
  await loseOutcomes(manager, locked.producer, lost);
}

async function withoutOutcome(manager: EntityManager, intents: readonly OpenIntent[]): Promise<OpenIntent[]> {
  const left: OpenIntent[] = [];
  for (const intent of intents) {
    const { tenantId, producer: source, at: since } = intent;
    const facet = outcomeFacet(intent.passageId);
    if (!(await hasEntryWith(manager, { tenantId, source, facet, since }))) left.push(intent);
  }
  return left;
}

function intentOf(record: AuditedPassage, { producer, epoch }: LockedProducer, number: number): OpenIntent {
  const { user, cluster, action } = entryOfRecord(record, producer);
  const tenantId = logOf(record.tenantId);
  return { producer, passageId: record.id, epoch, tenantId, number, at: new Date(record.at), user, cluster, action };
}
