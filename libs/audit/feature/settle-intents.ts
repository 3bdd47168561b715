import { inTransaction, readFrom } from '@fairlead/persistence';
import { outcomeFacet, ownEntry } from '../domain/entry.js';
import { hasEntryWith, intentsBefore, takeIntent, type OpenIntent } from '../store/intents.js';
import { lockProducer } from '../store/producers.js';
import { addEntries } from './add-entries.js';
import { AUDIT_SOURCE } from './take-batch.js';
import type { Runtime } from './runtime.js';

const AT_ONCE = 500;

/** Whether every process is gone that could still tell the outcome of what this gateway began then. */
export type IsGone = (producer: string, beganAt: Date) => boolean;

/**
 * What was let go on, and whose gateway is gone without having said how it ended, or said that it lost that, becomes `unknown`: an entry of its own. An outcome that comes later all the same stands
 * beside it. Returns how many.
 */
export async function settleIntents(runtime: Runtime, isGone: IsGone, afterMs: number): Promise<number> {
  const before = new Date(runtime.now().getTime() - afterMs);
  let [settled, after] = [0, undefined as OpenIntent | undefined];
  for (;;) {
    const page = { limit: AT_ONCE, after };
    const open = await readFrom(runtime.database, (manager) => intentsBefore(manager, before, page));
    const orphaned = open.filter(({ producer, at, lost }) => lost || isGone(producer, at));
    for (const intent of orphaned) await settle(runtime, intent);
    settled += orphaned.length;
    after = open.at(-1);
    // Those of gateways that live may be many: tunnels are open for days.
    if (open.length < AT_ONCE) return settled;
  }
}

async function settle(runtime: Runtime, intent: OpenIntent): Promise<void> {
  await inTransaction(runtime.database, async (manager) => {
    // Locks are taken as whoever takes batches takes them: the producer's before a log's.
    await lockProducer(manager, intent.producer, intent.epoch, runtime.now());
    if (!(await takeIntent(manager, intent))) return;
    const { tenantId, producer: source, at: since } = intent;
    if (await hasEntryWith(manager, { tenantId, source, facet: outcomeFacet(intent.passageId), since })) return;
    await addEntries(runtime, manager, [entryOfUnknown(intent, runtime.now())]);
  });
}

function entryOfUnknown(
  { producer, epoch, passageId, number, tenantId, user, cluster, action, at }: OpenIntent,
  now: Date,
) {
  const began = action.replace(/ \(begins\)$/, '');
  return ownEntry('unknown', {
    tenantId,
    at: now,
    source: AUDIT_SOURCE,
    user,
    cluster,
    action: `nobody knows how this ended: ${began}`,
    body: { passageId, intent: number, producer, epoch, beganAt: at.toISOString() },
  });
}
