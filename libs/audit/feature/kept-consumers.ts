import type { SubscriberConsumers, ConsumerSpec } from '@fairlead/messaging';
import { inTransaction, readFrom, withAdvisoryLock } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { subjectsOf } from '../domain/event-patterns.js';
import { natsSubscribers, subscriberById, type StoredSubscriber } from '../store/subscribers.js';
import type { ConsumersOfSubscribers } from './subscribers.js';

/** Keeps the consumers in NATS as the table of subscribers says: one for each that fetches, and none of anybody else. */
export class KeptConsumers implements ConsumersOfSubscribers {
  constructor(
    private readonly database: DataSource,
    private readonly consumers: SubscriberConsumers,
  ) {}

  /** All of them; after a failure that nobody could repeat, or where NATS lost its streams. */
  async followAll(): Promise<void> {
    // In this order: what is removed meanwhile has none, and what is added meanwhile is not taken for somebody's who is gone.
    const present = await this.consumers.list();
    const rows = await readFrom(this.database, natsSubscribers);
    const known = new Set(rows.map(({ id }) => id));
    for (const row of rows) if (!present.has(row.id)) await this.follow(row.id);
    for (const id of present) if (!known.has(id)) await this.follow(id);
  }

  follow(subscriberId: string): Promise<void> {
    return this.#inTurn(subscriberId, async (row) => {
      if (row?.natsPublicKey) await this.consumers.ensure(specOf(row));
      else await this.consumers.remove(subscriberId);
    });
  }

  beginAnew(subscriberId: string): Promise<void> {
    return this.#inTurn(subscriberId, async (row) => {
      // Where a consumer begins cannot be changed.
      await this.consumers.remove(subscriberId);
      if (row?.natsPublicKey) await this.consumers.ensure(specOf(row));
    });
  }

  /** As the table says at that moment, one instance of the service after the other. */
  #inTurn(subscriberId: string, work: (row: StoredSubscriber | null) => Promise<void>): Promise<void> {
    return inTransaction(this.database, async (manager) => {
      await withAdvisoryLock(manager, `consumer ${subscriberId}`);
      await work(await subscriberById(manager, subscriberId));
    });
  }
}

function specOf({ id, tenantId, types, startsAt, startsAtNumber }: StoredSubscriber): ConsumerSpec {
  return {
    subscriberId: id,
    subjects: subjectsOf(tenantId, types),
    startsAt: startsAtNumber === null ? { time: startsAt } : { number: startsAtNumber },
  };
}
