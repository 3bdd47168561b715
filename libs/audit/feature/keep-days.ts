import { inTransaction, readFrom } from '@fairlead/persistence';
import { ownEntry } from '../domain/entry.js';
import { forgetReceived } from '../store/inbox.js';
import { dropPartitions, makePartitions } from '../store/partitions.js';
import { sizeOf } from '../store/search.js';
import { markTaken, segmentsToTake, type OldSegments } from '../store/segments.js';
import { addEntries } from './add-entries.js';
import type { Runtime } from './runtime.js';
import { AUDIT_SOURCE } from './take-batch.js';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 4;
/** Between what a log says of a day and its going: who verifies a log meanwhile has a head of before. */
const SAID_BEFORE_MS = 3 * 3_600_000;
/** The stream keeps events for 30 days; after that none comes again. */
const INBOX_DAYS = 35;
const FORGOTTEN_AT_ONCE = 5_000;

/** Makes room for the days to come. Nothing can be recorded on a day without. */
export async function makeDays(runtime: Runtime): Promise<void> {
  // From yesterday on: a clock may have been put back.
  const from = new Date(runtime.now().getTime() - DAY_MS);
  await inTransaction(runtime.database, (manager) => makePartitions(manager, from, DAYS_AHEAD + 2));
}

/** Makes room ahead, and lets go of whole days that are older than what is kept. */
export async function keepDays(runtime: Runtime, retentionDays: number): Promise<void> {
  await makeDays(runtime);
  const ago = (days: number): Date => new Date(runtime.now().getTime() - days * DAY_MS);
  // Once, so that no day goes of which nothing was said, at midnight.
  const before = ago(retentionDays);
  // Each log says so first: what goes away without a word was taken by somebody else.
  for (const segments of await readFrom(runtime.database, (manager) => segmentsToTake(manager, before)))
    await sayTaken(runtime, segments);
  const saidBefore = new Date(before.getTime() - SAID_BEFORE_MS);
  const dropped = await inTransaction(runtime.database, (manager) => dropPartitions(manager, saidBefore));
  if (dropped.length > 0) runtime.logger.info('audit.days_dropped', { days: dropped, retentionDays });
  for (let forgotten = FORGOTTEN_AT_ONCE; forgotten === FORGOTTEN_AT_ONCE;) {
    forgotten = await inTransaction(runtime.database, (manager) =>
      forgetReceived(manager, ago(INBOX_DAYS), FORGOTTEN_AT_ONCE),
    );
  }
}

async function sayTaken(runtime: Runtime, segments: OldSegments): Promise<void> {
  const { tenantId, first, last, firstDay, lastDay } = segments;
  await inTransaction(runtime.database, async (manager) => {
    if (!(await markTaken(manager, segments))) return;
    const size = await sizeOf(manager, tenantId);
    const body = { statement: 'retention', first, last, size, firstDay, lastDay };
    const action = `entries ${first} to ${last} taken by the retention`;
    await addEntries(runtime, manager, [
      ownEntry('retention', { tenantId, at: runtime.now(), source: AUDIT_SOURCE, action, body }),
    ]);
  });
}
