import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import { inTransaction } from '@fairlead/persistence';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import { In, IsNull, LessThan, type DataSource, type EntityManager } from 'typeorm';
import { OutboxRow } from './outbox.js';
import { publishEvent } from './publish-event.js';

const BATCH = 100;
const RETRY = { baseMs: 100, capMs: 5_000 };
const CLEAN_EVERY_MS = 600_000;

export interface OutboxRelayOptions {
  readonly database: DataSource;
  readonly nats: NatsConnection;
  readonly logger: Logger;
  /** How often to look without being told, milliseconds; default 1,000. */
  readonly pollMs?: number;
  /** How long a published event stays in the table, milliseconds; default one day. */
  readonly keepMs?: number;
}

/**
 * Publishes the outbox in order of its ids, however often NATS or Postgres go away. Instances beside each other share the
 * work; an event may be published twice, with the same id, never not at all. Created running; dispose of it to stop.
 */
export class OutboxRelay implements AsyncDisposable {
  readonly #options: OutboxRelayOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #wake = new AbortController();
  #poked = false;
  #lastCleanMs = 0;
  #oldest: Date | null = null;

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** When the oldest event was decided that this instance could not publish yet; null: none waits for it. */
  get oldest(): Date | null {
    return this.#oldest;
  }

  /** Something was committed: look now. */
  poke(): void {
    this.#poked = true;
    this.#wake.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { logger } = this.#options;
    for (let failures = 0; !this.#stop.signal.aborted;) {
      try {
        this.#poked = false;
        const sent = await this.#sendBatch();
        await this.#clean();
        if (failures > 0) logger.info('outbox.recovered', { failures });
        failures = 0;
        if (sent < BATCH && !this.#poked) await this.#rest(this.#options.pollMs ?? 1_000, true);
      } catch (error) {
        logger.log(failures === 0 ? 'warn' : 'debug', 'outbox.delayed', { reason: messageOf(error) });
        await this.#rest(fullJitterMs(failures, RETRY), false);
        failures += 1;
      }
    }
  }

  /** Sleeps; stopping ends it, and so does a poke unless this is the wait after a failure. */
  async #rest(ms: number, wakeable: boolean): Promise<void> {
    this.#wake = new AbortController();
    const signals = wakeable ? [this.#stop.signal, this.#wake.signal] : [this.#stop.signal];
    await systemClock.sleep(ms, AbortSignal.any(signals)).catch(() => undefined);
  }

  /** The rows stay locked until their fate is known, so that no other instance sends them as well. */
  async #sendBatch(): Promise<number> {
    const failed: unknown[] = [];
    const count = await inTransaction(this.#options.database, async (manager) => {
      const rows = await takeUnsent(manager);
      this.#oldest = rows[0]?.createdAt ?? null;
      const results = await Promise.allSettled(rows.map((row) => publishEvent(this.#options.nats, outgoing(row))));
      const sent = rows.filter((_, index) => results[index]?.status === 'fulfilled');
      for (const result of results) if (result.status === 'rejected') failed.push(result.reason);
      if (sent.length > 0)
        await manager.update(OutboxRow, { id: In(sent.map((row) => row.id)) }, { sentAt: new Date() });
      return rows.length;
    });
    if (failed.length > 0) throw failed[0];
    if (count < BATCH) this.#oldest = null;
    return count;
  }

  async #clean(): Promise<void> {
    if (performance.now() - this.#lastCleanMs < CLEAN_EVERY_MS && this.#lastCleanMs > 0) return;
    const before = new Date(Date.now() - (this.#options.keepMs ?? 86_400_000));
    await inTransaction(this.#options.database, (manager) => manager.delete(OutboxRow, { sentAt: LessThan(before) }));
    this.#lastCleanMs = performance.now();
  }
}

function takeUnsent(manager: EntityManager): Promise<OutboxRow[]> {
  return manager.find(OutboxRow, {
    where: { sentAt: IsNull() },
    order: { id: 'ASC' },
    take: BATCH,
    lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' },
  });
}

function outgoing({ eventId, subject, body }: OutboxRow): { id: string; subject: string; body: string } {
  return { id: eventId, subject, body };
}
