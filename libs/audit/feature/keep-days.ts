import { inTransaction } from '@fairlead/persistence';
import { forgetReceived } from '../store/inbox.js';
import { dropPartitions, makePartitions } from '../store/partitions.js';
import type { Runtime } from './runtime.js';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 4;
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
  const dropped = await inTransaction(runtime.database, (manager) => dropPartitions(manager, ago(retentionDays)));
  if (dropped.length > 0) runtime.logger.info('audit.days_dropped', { days: dropped, retentionDays });
  for (let forgotten = FORGOTTEN_AT_ONCE; forgotten === FORGOTTEN_AT_ONCE;) {
    forgotten = await inTransaction(runtime.database, (manager) =>
      forgetReceived(manager, ago(INBOX_DAYS), FORGOTTEN_AT_ONCE),
    );
  }
}
