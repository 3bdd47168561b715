import type { Caller } from '@fairlead/contracts';
import { messageOf } from '@fairlead/errors';
import { connectionState } from '@fairlead/messaging';
import { Counter, Gauge, type Logger, type Registry } from '@fairlead/observability';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventInput, EventType } from './catalogue/events.js';
import { createEvent } from './envelope.js';
import { publishEvent, type EventReceipt } from './publish-event.js';
import { PublishQueue } from './publish-queue.js';

export interface EventPublisherOptions {
  /** Events that may wait; default 10,000. */
  readonly maxQueued?: number;
  /** Their bytes together; default 16 MiB. */
  readonly maxQueuedBytes?: number;
  readonly logger: Logger;
  readonly registry?: Registry;
}

/** For a process without a database: events wait in memory, bounded, and are lost with the process. */
export interface EventPublisher {
  /** Queues an event; never waits, never throws for want of NATS. Where there is no room, the oldest of these are dropped. */
  publish<T extends EventType>(type: T, data: EventInput<T>): void;
  /**
   * Queues an event that is not dropped, and resolves once JetStream has stored it. UNAVAILABLE, or DRAINING when the process stops: it is not
   * stored and will not be. DEADLINE_EXCEEDED: it may be stored, and is not sent again. INTERNAL if the data does not match the type's schema.
   */
  publishDurably<T extends EventType>(type: T, data: EventInput<T>, options: DurablyOptions): Promise<EventReceipt>;
  /** Events dropped because the queue was full, since the start. */
  readonly dropped: number;
  readonly queued: number;
  /** Sends what it can in 2 s, and stops. */
  close(): Promise<void>;
}

export interface DurablyOptions {
  /** How long to wait at most, milliseconds. */
  readonly deadlineMs: number;
}

/** Publishes in order, a batch at a time, again and again with full jitter while NATS is away. */
export function createEventPublisher(
  nc: NatsConnection,
  source: Caller,
  { maxQueued = 10_000, maxQueuedBytes = 16 * 1024 * 1024, logger, registry }: EventPublisherOptions,
): EventPublisher {
  const metrics = registry && publisherMetrics(registry, () => queue.size);
  const queue: PublishQueue = new PublishQueue({
    publish: (event, signal) => publishEvent(nc, event, signal),
    maxQueued,
    maxQueuedBytes,
    onDropped: () => {
      metrics?.dropped.inc();
      if (queue.dropped === 1) logger.warn('events.dropping_oldest', { queued: queue.size });
    },
    onDelayed: (error, { before }) =>
      logger.log(before === 0 ? 'warn' : 'debug', 'events.delayed', { reason: messageOf(error) }),
  });
  const unwatch = connectionState(nc).onChange((connected) => connected && queue.wake());
  return {
    publish: (type, data) => queue.tell(createEvent(source, type, data)),
    publishDurably: async (type, data, { deadlineMs }) => queue.store(createEvent(source, type, data), deadlineMs),
    get dropped() {
      return queue.dropped;
    },
    get queued() {
      return queue.size;
    },
    close: async () => {
      const lost = await queue.close();
      unwatch();
      if (lost > 0) logger.warn('events.lost_at_exit', { count: lost });
    },
  };
}

function publisherMetrics(registry: Registry, queuedNow: () => number) {
  const registers = [registry];
  return {
    queued: new Gauge({
      name: 'fairlead_events_queued',
      help: 'Events that wait in memory until JetStream has stored them.',
      registers,
      collect() {
        this.set(queuedNow());
      },
    }),
    dropped: new Counter({
      name: 'fairlead_events_dropped_total',
      help: 'Events that gave way to newer ones, because too many waited for NATS.',
      registers,
    }),
  };
}
