import { fullJitterMs, systemClock } from '@fairlead/clock';
import type { Caller } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventInput, EventType } from './catalog.js';
import { createEvent, type OutgoingEvent } from './envelope.js';
import { publishEvent } from './publish-event.js';

const RETRY = { baseMs: 100, capMs: 5_000 };
const CLOSE_MS = 2_000;

export interface EventPublisherOptions {
  /** Events that may wait; the oldest go first when there are more. Default 10,000. */
  readonly maxQueued?: number;
  /** Their bytes together; default 16 MiB. */
  readonly maxQueuedBytes?: number;
  readonly logger: Logger;
}

/** For a process without a database: events wait in memory, bounded, and are lost with the process. */
export interface EventPublisher {
  /** Queues an event; never waits, never throws for want of NATS. */
  publish<T extends EventType>(type: T, data: EventInput<T>): void;
  /** Events dropped because the queue was full, since the start. */
  readonly dropped: number;
  readonly queued: number;
  /** Sends what it can in 2 s, and stops. */
  close(): Promise<void>;
}

/** Publishes in order, one at a time, again and again with full jitter while NATS is away. */
export function createEventPublisher(
  nc: NatsConnection,
  source: Caller,
  options: EventPublisherOptions,
): EventPublisher {
  return new QueuedPublisher(nc, source, options);
}

class QueuedPublisher implements EventPublisher {
  readonly #nc: NatsConnection;
  readonly #source: Caller;
  readonly #options: EventPublisherOptions;
  readonly #queue: OutgoingEvent[] = [];
  readonly #stop = new AbortController();
  #bytes = 0;
  #sending: Promise<void> | null = null;
  dropped = 0;

  constructor(nc: NatsConnection, source: Caller, options: EventPublisherOptions) {
    this.#nc = nc;
    this.#source = source;
    this.#options = options;
  }

  get queued(): number {
    return this.#queue.length;
  }

  publish<T extends EventType>(type: T, data: EventInput<T>): void {
    if (this.#stop.signal.aborted) return;
    const event = createEvent(this.#source, type, data);
    this.#queue.push(event);
    this.#bytes += event.body.length;
    this.#shed();
    this.#send();
  }

  async close(): Promise<void> {
    const late = systemClock.sleep(CLOSE_MS, this.#stop.signal).catch(() => undefined);
    await Promise.race([this.#sending, late]);
    this.#stop.abort();
    await this.#sending;
    if (this.#queue.length > 0) this.#options.logger.warn('events.lost_at_exit', { count: this.#queue.length });
  }

  #shed(): void {
    const { maxQueued = 10_000, maxQueuedBytes = 16 * 1024 * 1024, logger } = this.#options;
    while (this.#queue.length > maxQueued || this.#bytes > maxQueuedBytes) {
      this.#bytes -= this.#queue.shift()?.body.length ?? 0;
      if (this.dropped === 0) logger.warn('events.dropping_oldest', { queued: this.#queue.length });
      this.dropped += 1;
    }
  }

  #send(): void {
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = null;
      // What was published after the queue was found empty, and before this was told.
      if (this.#queue.length > 0 && !this.#stop.signal.aborted) this.#send();
    });
  }

  async #drain(): Promise<void> {
    for (let failures = 0; this.#queue.length > 0 && !this.#stop.signal.aborted;) {
      const event = this.#queue[0]!;
      try {
        await publishEvent(this.#nc, event);
        failures = 0;
        // It may have been shed while it was on its way.
        if (this.#queue[0] === event) this.#bytes -= this.#queue.shift()!.body.length;
      } catch (error) {
        this.#options.logger.log(failures === 0 ? 'warn' : 'debug', 'events.delayed', { reason: messageOf(error) });
        await systemClock.sleep(fullJitterMs(failures, RETRY), this.#stop.signal).catch(() => undefined);
        failures += 1;
      }
    }
  }
}
