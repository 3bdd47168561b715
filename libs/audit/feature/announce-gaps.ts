import { DEFAULT_TENANT } from '@fairlead/contracts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { ownEntry } from '../domain/entry.js';
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
 * Says in every log which numbers of a gateway have not come within `graceMs` after a later one did: until then, they may be in another instance's hands. They are taken all the
 * same when they come.
 */
export async function announceGaps(runtime: Runtime, graceMs: number): Promise<void> {
  const before = new Date(runtime.now().getTime() - graceMs);
  const epochs = await readFrom(runtime.database, (manager) => epochsToAnnounce(manager, before));
  for (const { producer, epoch } of epochs) {
    await inTransaction(runtime.database, async (manager) => {
      const locked = await lockProducer(manager, producer, epoch, runtime.now());
      const due = locked.gaps.filter(({ announced, foundAt }) => !announced && foundAt <= before);
      const entries = due.map((gap) => entryOfGap(locked, gap));
      await markAnnounced(manager, locked, due);
      await addEntries(runtime, manager, await toEveryLog(manager, entries));
    });
  }
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
