import { systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { ConcurrencyLimit } from '@fairlead/limits';
import { RunLoop } from '@fairlead/loop';
import { readFrom } from '@fairlead/persistence';
import { dueDeliveries, type Delivery } from '../../store/webhook-deliveries.js';
import type { LeasedWebhook } from '../../store/webhooks.js';
import { deliver } from './deliver.js';
import { fillWindow } from './fill-window.js';
import type { WebhookRuntime } from './webhook-runtime.js';

/** Messages on their way to one receiver. */
export const MOST_AT_ONCE = 4;
/** Whoever delivers wakes it where there is something to do. */
const INTERVAL_MS = 30_000;
const RETRY = { baseMs: 500, capMs: 10_000 };
/** Until the limit of all webhooks may let one through. */
const AT_LIMIT_MS = 100;
const AGAIN_MS = 2_000;

/** Delivers to one webhook, in the order of the log's numbers, several at once: created running, until it is disposed of. */
export class WebhookSender implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #loop: RunLoop;
  /** By its claim. */
  readonly #underWay = new Map<string, { readonly isRetry: boolean; readonly done: Promise<void> }>();

  constructor(
    private readonly runtime: WebhookRuntime,
    private readonly webhook: LeasedWebhook,
    private readonly lease: string,
    private readonly concurrency: ConcurrencyLimit,
  ) {
    const { logger } = runtime;
    const { tenantId, name } = webhook;
    this.#loop = new RunLoop({
      intervalMs: INTERVAL_MS,
      retry: RETRY,
      work: () => this.#deliverDue(),
      onFailed: (error, { repeated }) => {
        const about = { tenantId, subscriber: name, reason: messageOf(error) };
        logger.log(repeated ? 'debug' : 'warn', 'webhook.delayed', about);
      },
    });
  }

  wake(): void {
    this.#loop.wake();
  }

  /** What is under way is broken off, and delivered again by whoever delivers next. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the delivery was ended'));
    await this.#loop[Symbol.asyncDispose]();
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }

  async #deliverDue(): Promise<number | undefined> {
    const more = await fillWindow(this.runtime, this.webhook, this.lease);
    const free = MOST_AT_ONCE - this.#underWay.size;
    if (free <= 0) return undefined;
    const own = { ...this.webhook, lease: this.lease };
    // What fails again and again takes one of these, and holds up nothing else.
    const retries = [...this.#underWay.values()].some(({ isRetry }) => isRetry) ? 0 : 1;
    const limits = { all: free, retries, besides: [...this.#underWay.keys()] };
    for (const delivery of await readFrom(this.runtime.database, (manager) => dueDeliveries(manager, own, limits))) {
      const giveBack = this.concurrency.take(this.webhook.subscriberId);
      if (!giveBack) return AT_LIMIT_MS;
      const isRetry = delivery.attempts > 0;
      this.#underWay.set(delivery.claim, { isRetry, done: this.#deliver(delivery, giveBack) });
    }
    return more ? 0 : undefined;
  }

  async #deliver(delivery: Delivery, giveBack: () => void): Promise<void> {
    const { signal } = this.#stop;
    const { logger } = this.runtime;
    const { tenantId, name: subscriber } = this.webhook;
    try {
      await deliver(this.runtime, this.webhook, delivery, signal);
    } catch (error) {
      if (!signal.aborted) {
        logger.warn('webhook.delayed', { tenantId, subscriber, number: delivery.number, reason: messageOf(error) });
        await systemClock.sleep(AGAIN_MS, signal).catch(() => undefined);
      }
    } finally {
      giveBack();
      this.#underWay.delete(delivery.claim);
      this.wake();
    }
  }
}
