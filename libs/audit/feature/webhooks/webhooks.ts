import { pageOf, webhookKeysRpc, type DeadLetter, type ReplayFrom, type RotatedSecret } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { commit, read, tell } from '@fairlead/events';
import type { EntityManager } from 'typeorm';
import { findSubscriber, type StoredSubscriber } from '../../store/subscribers.js';
import {
  deadLetters,
  dropDeliveriesAfter,
  firstNumberKept,
  firstNumberSince,
  reviveDeadLetters,
} from '../../store/webhook-deliveries.js';
import { addWebhook, enableWebhook, lockWebhook, moveCursor } from '../../store/webhooks.js';
import { aboutSubscriber, type AboutSubscriber, type Asked } from '../subscriber-event.js';
import type { WebhookRuntime } from './webhook-runtime.js';

const PAGE_ROWS = 200;

/** What administrators do about webhooks. NOT_FOUND; CONFLICT for a subscriber of another kind. */
export class Webhooks {
  constructor(
    private readonly runtime: WebhookRuntime,
    private readonly onChanged: () => void,
  ) {}

  /** INVALID_ARGUMENT for a URL that may not be asked, as far as it says so itself. */
  check(url: string | undefined): void {
    if (url !== undefined) this.runtime.webhooks.posts.check(url);
  }

  /** Has `keys` make its secret, in the transaction that adds the subscriber: `undo` it if that is not committed. Null: it is of another kind. */
  async begin(manager: EntityManager, added: StoredSubscriber, url: string | undefined): Promise<string | null> {
    if (url === undefined) return null;
    await addWebhook(manager, added, url);
    const { id: subscriberId, tenantId } = added;
    return (await this.runtime.rpc.call(webhookKeysRpc.createWebhookSecret, tenantId, { subscriberId })).secret;
  }

  /** Has the secret destroyed of what was not stored. What cannot be destroyed now is swept later. */
  async undo({ id: subscriberId, tenantId, kind }: StoredSubscriber): Promise<void> {
    if (kind !== 'webhook') return;
    const asked = this.runtime.rpc.call(webhookKeysRpc.destroyWebhookSecrets, tenantId, { subscriberId });
    await asked.catch((error: unknown) =>
      this.runtime.logger.warn('webhook.secret_left', { tenantId, subscriberId, reason: messageOf(error) }),
    );
  }

  async rotate(asked: Asked, overlapHours: number): Promise<RotatedSecret> {
    const made = await this.#change(asked, async (manager, known, about) => {
      const input = { subscriberId: known.id, overlapHours };
      const rotated = await this.runtime.rpc.call(webhookKeysRpc.rotateWebhookSecret, asked.tenantId, input);
      await tell(this.runtime, manager, 'dev.fairlead.subscriber.rotated.v1', about);
      return rotated;
    });
    return made;
  }

  /** Delivers to it again, from where it stood. */
  async enable(asked: Asked): Promise<void> {
    await this.#change(asked, async (manager, { id }, about) => {
      if (await enableWebhook(manager, id))
        await tell(this.runtime, manager, 'dev.fairlead.subscriber.enabled.v1', about);
    });
  }

  /** By number, above `after`. */
  async listDead(tenantId: string, name: string, after = 0): Promise<{ deadLetters: DeadLetter[]; next?: number }> {
    const rows = await read(this.runtime, async (manager) => {
      const { id } = await findWebhook(manager, tenantId, name);
      return deadLetters(manager, id, after, PAGE_ROWS);
    });
    const letters = rows.map((row) => ({ ...row, lastAt: row.lastAt?.toISOString() ?? null }));
    const { items, ...next } = pageOf(letters, PAGE_ROWS, ({ number }) => number);
    return { deadLetters: items, ...next };
  }

  /** Dead letters are delivered after all; null: all of them. Returns how many. */
  async redeliver(asked: Asked, numbers: readonly number[] | null): Promise<number> {
    return this.#change(asked, async (manager, { id }, about) => {
      const count = await reviveDeadLetters(manager, id, numbers);
      if (count > 0) await tell(this.runtime, manager, 'dev.fairlead.subscriber.redelivered.v1', { ...about, count });
      return count;
    });
  }

  /** Delivers all from this entry on again. Returns its number. GONE: it is older than what is kept. INVALID_ARGUMENT: nothing behind it was looked at yet. */
  async replay(asked: Asked, from: ReplayFrom): Promise<number> {
    return this.#change(asked, async (manager, { id }, about) => {
      const held = await lockWebhook(manager, id);
      const number = await firstOf(manager, asked.tenantId, from, (held?.cursor ?? 0) + 1);
      await dropDeliveriesAfter(manager, id, number - 1);
      await moveCursor(manager, id, number - 1);
      await tell(this.runtime, manager, 'dev.fairlead.subscriber.replayed.v1', {
        ...about,
        fromTime: null,
        fromNumber: number,
      });
      return number;
    });
  }

  async #change<T>(
    asked: Asked,
    work: (manager: EntityManager, known: StoredSubscriber, about: AboutSubscriber) => Promise<T>,
  ): Promise<T> {
    const result = await commit(this.runtime, async (manager) => {
      const known = await findWebhook(manager, asked.tenantId, asked.name, 'lock');
      return work(manager, known, aboutSubscriber(asked, known));
    });
    this.onChanged();
    return result;
  }
}

async function findWebhook(
  manager: EntityManager,
  tenantId: string,
  name: string,
  how: 'read' | 'lock' = 'read',
): Promise<StoredSubscriber> {
  const known = await findSubscriber(manager, tenantId, name, how);
  if (known.kind === 'webhook') return known;
  throw new FairleadError('CONFLICT', `the subscriber ${name} is no webhook: it fetches events itself`);
}

/** `ahead`: the lowest number that was not looked at yet. */
async function firstOf(manager: EntityManager, tenantId: string, from: ReplayFrom, ahead: number): Promise<number> {
  if ('time' in from) {
    // Of what was not looked at yet, all is delivered anyway.
    return Math.min((await firstNumberSince(manager, tenantId, new Date(from.time))) ?? ahead, ahead);
  }
  if (from.number > ahead) {
    throw new FairleadError(
      'INVALID_ARGUMENT',
      `entry ${from.number} is delivered for the first time yet: at most ${ahead}`,
    );
  }
  const kept = (await firstNumberKept(manager, tenantId)) ?? ahead;
  if (from.number < Math.min(kept, ahead)) {
    throw new FairleadError('GONE', `entry ${from.number} is kept no more; the oldest one is ${kept}`);
  }
  return from.number;
}
