import { randomUUID } from 'node:crypto';
import { messageOf } from '@fairlead/errors';
import { ConcurrencyLimit } from '@fairlead/limits';
import { RunLoop } from '@fairlead/loop';
import { inTransaction, readFrom } from '@fairlead/persistence';
import { leaseWebhooks, leasedWebhooks, releaseWebhooks, type LeasedWebhook } from '../../store/webhooks.js';
import type { WebhookRuntime } from './webhook-runtime.js';
import { MOST_AT_ONCE, WebhookSender } from './webhook-sender.js';

const INTERVAL_MS = 1_000;
const LEASE_MS = 30_000;
/** Of one process; others wait for another process. */
const MOST_WEBHOOKS = 1_000;
/** Messages on their way from this process. A receiver that fails has one of them, whatever it is told. */
const MOST_DELIVERIES = 128;

/**
 * Delivers to webhooks: of several processes one to each, as long as it renews its lease. What a process had is another's as soon as it ends, or when its lease does. Created
 * running; dispose of it to stop.
 */
export class WebhookDispatcher implements AsyncDisposable {
  readonly #lease = randomUUID();
  readonly #loop: RunLoop;
  readonly #concurrency = new ConcurrencyLimit({ total: MOST_DELIVERIES, perKey: MOST_AT_ONCE });
  readonly #senders = new Map<string, WebhookSender>();

  constructor(private readonly runtime: WebhookRuntime) {
    const { logger } = runtime;
    this.#loop = new RunLoop({
      intervalMs: runtime.webhooks.lookEveryMs ?? INTERVAL_MS,
      jitter: 0.1,
      work: () => this.#reconcileOnce(),
      onFailed: (error, { repeated }) =>
        logger.log(repeated ? 'debug' : 'warn', 'webhooks.delayed', { reason: messageOf(error) }),
    });
  }

  /** An administrator changed something. */
  poke(): void {
    this.#loop.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    await this.#keepOnly(new Set());
    const { database, logger } = this.runtime;
    await inTransaction(database, (manager) => releaseWebhooks(manager, this.#lease)).catch((error: unknown) =>
      logger.debug('webhooks.not_released', { reason: messageOf(error) }),
    );
  }

  async #reconcileOnce(): Promise<void> {
    const { database } = this.runtime;
    const leaseMs = this.runtime.webhooks.leaseMs ?? LEASE_MS;
    const terms = { lease: this.#lease, leaseMs, renewMs: (leaseMs * 2) / 3, most: MOST_WEBHOOKS };
    await inTransaction(database, (manager) => leaseWebhooks(manager, terms));
    const leased = await readFrom(database, (manager) => leasedWebhooks(manager, this.#lease));
    await this.#keepOnly(new Set(leased.map(({ subscriberId }) => subscriberId)));
    for (const webhook of leased) {
      const sender = this.#senders.get(webhook.subscriberId);
      if (!sender) this.#senders.set(webhook.subscriberId, this.#start(webhook));
      else if (webhook.due) sender.wake();
    }
    this.#meter(leased);
  }

  #start(webhook: LeasedWebhook): WebhookSender {
    return new WebhookSender(this.runtime, webhook, this.#lease, this.#concurrency);
  }

  async #keepOnly(ids: ReadonlySet<string>): Promise<void> {
    const ended = [...this.#senders].filter(([id]) => !ids.has(id));
    for (const [id] of ended) this.#senders.delete(id);
    await Promise.all(ended.map(([, sender]) => sender[Symbol.asyncDispose]()));
  }

  #meter(leased: readonly LeasedWebhook[]): void {
    const nowMs = this.runtime.now().getTime();
    const seconds = (oldestAt: Date | null): number =>
      oldestAt === null ? 0 : Math.max(0, (nowMs - oldestAt.getTime()) / 1_000);
    this.runtime.webhooks.meter.lags(
      leased.map(({ tenantId, name, lag, oldestAt }) => ({ tenantId, name, entries: lag, seconds: seconds(oldestAt) })),
    );
  }
}
