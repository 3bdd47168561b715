import { DEFAULT_TENANT } from '@fairlead/contracts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { ownEntry, type NewEntry } from '../domain/entry.js';
import {
  epochsToAnnounce,
  lockProducer,
  markAnnounced,
  type LockedProducer,
  type StoredGap,
} from '../store/producers.js';
import { addEntries } from './add-entries.js';
import { AUDIT_SOURCE, toEveryLog } from './take-batch.js';
import type { Runtime } from './runtime.js';

/**
 * Says in every log which numbers of a gateway have not come within `graceMs` after a later one did; and, so long after a new spool's first one came, up to which number the one before
 * it did: until then, they may be in another instance's hands. They are taken all the same when they come.
 */
export async function announceGaps(runtime: Runtime, graceMs: number): Promise<void> {
  const before = new Date(runtime.now().getTime() - graceMs);
  const epochs = await readFrom(runtime.database, (manager) => epochsToAnnounce(manager, before));
  for (const { producer, epoch } of epochs) {
    await inTransaction(runtime.database, async (manager) => {
      const locked = await lockProducer(manager, producer, epoch, runtime.now());
      const due = locked.gaps.filter(({ announced, foundAt }) => !announced && foundAt <= before);
      const entries = [...entriesOfEpoch(locked, runtime.now()), ...due.map((gap) => entryOfGap(locked, gap))];
      await markAnnounced(manager, locked, due);
      await addEntries(runtime, manager, await toEveryLog(manager, entries));
    });
  }
}

/** A spool that began anew: what the one before had and never handed on is lost, and nobody knows how much that was, unless its gateway had said that there was nothing. */
function entriesOfEpoch({ producer, epoch, after }: LockedProducer, now: Date): NewEntry[] {
  if (!after || after.ended) return [];
  const action = `${producer} began a new spool; of the one before, nothing came after number ${after.mark}`;
  const body = { state: 'new-epoch', producer, epoch, previousEpoch: after.epoch, previousMark: after.mark };
  return [ownEntry('gap', { tenantId: DEFAULT_TENANT, at: now, source: AUDIT_SOURCE, action, body })];
}

function entryOfGap({ producer, epoch }: LockedProducer, { from, to, foundAt }: StoredGap) {
  return ownEntry('gap', {
    tenantId: DEFAULT_TENANT,
    at: foundAt,
    source: AUDIT_SOURCE,
    action: `records ${from} to ${to} of ${producer} are missing`,
    body: { state: 'missing', producer, epoch, from, to },
  });
}
