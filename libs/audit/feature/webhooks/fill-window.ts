import { inTransaction } from '@fairlead/persistence';
import { meansType } from '../../domain/event-patterns.js';
import { addDeliveries, countPending, eventsAfter } from '../../store/webhook-deliveries.js';
import { lockWebhook, moveCursor, type LeasedWebhook } from '../../store/webhooks.js';
import type { WebhookRuntime } from './webhook-runtime.js';

/** Messages of one webhook that may wait for their delivery. What comes behind stays in the log. */
const WINDOW = 100;
/** Entries looked at in one transaction. */
const LOOK = 2_000;

/**
 * Looks at what comes next in the log, and writes down what of it is to be delivered, as far as there is room. Together with the cursor: what was passed over is delivered, a dead
 * letter, or still written down. True: there is more to look at, and room for it.
 */
export async function fillWindow(
  { database }: WebhookRuntime,
  { subscriberId, tenantId, types }: LeasedWebhook,
  lease: string,
): Promise<boolean> {
  return inTransaction(database, async (manager) => {
    const held = await lockWebhook(manager, subscriberId, lease);
    if (!held || held.cursor >= held.size) return false;
    const room = WINDOW - (await countPending(manager, subscriberId));
    if (room <= 0) return false;
    const upTo = Math.min(held.size, held.cursor + LOOK);
    const found = await eventsAfter(manager, tenantId, { after: held.cursor, upTo });
    const meant = found.filter(({ type }) => meansType(types, `dev.fairlead.${type}.v1`));
    const taken = meant.slice(0, room);
    const isFull = taken.length < meant.length;
    const cursor = isFull ? (taken.at(-1)?.number ?? held.cursor) : upTo;
    if (taken.length > 0) await addDeliveries(manager, subscriberId, taken);
    await moveCursor(manager, subscriberId, cursor);
    return !isFull && cursor < held.size && taken.length < room;
  });
}
