import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { Overflow } from '@fairlead/limits';
import { RunLoop, type Failure } from '@fairlead/loop';
import type { OutgoingEvent } from './envelope.js';
import type { EventReceipt } from './publish-event.js';

const RETRY = { baseMs: 100, capMs: 5_000 };
/** Events on their way at once, and their bytes: what was queued meanwhile goes together after them. */
const MAX_BATCH = 100;
const MAX_BATCH_BYTES = 1024 * 1024;
/** Nothing is due by itself: whoever queues wakes the loop. */
const IDLE_MS = 3_600_000;
const CLOSE_MS = 2_000;

export interface PublishQueueOptions {
  /** As `publishEvent` does it, and with its errors. */
  readonly publish: (event: OutgoingEvent, signal: AbortSignal) => Promise<EventReceipt>;
  readonly maxQueued: number;
  readonly maxQueuedBytes: number;
  /** Events went because there was no room. */
  readonly onDropped: () => void;
  /** A batch was not stored whole; it is tried again. */
  readonly onDelayed: (error: unknown, failure: Failure) => void;
}

interface Queued {
  readonly event: OutgoingEvent;
  readonly bytes: number;
  /** `forget-oldest`: it gives way to newer ones. `refuse`: somebody waits for it, and it stays. */
  readonly overflow: Overflow;
  readonly stored: PromiseWithResolvers<EventReceipt>;
  /** It was sent, and nobody said that it is not stored. */
  maybeStored: boolean;
  lastFailure?: unknown;
}

/**
 * Events that wait in memory for JetStream, bounded in number and bytes. They go in order, a batch at a time, again and again with full
 * jitter while NATS is away. After a failure those of the same batch that were stored come before those that were not.
 */
export class PublishQueue {
  readonly #options: PublishQueueOptions;
  readonly #queue = new Set<Queued>();
  /** Those of the queue that may give way, the oldest first. */
  readonly #notifications = new Set<Queued>();
  readonly #loop: RunLoop;
  #bytes = 0;
  #notificationBytes = 0;
  #closing: (() => void) | null = null;
  dropped = 0;

  constructor(options: PublishQueueOptions) {
    this.#options = options;
    this.#loop = new RunLoop({
      work: (signal) => this.#sendBatch(signal),
      intervalMs: IDLE_MS,
      retry: RETRY,
      onFailed: options.onDelayed,
    });
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Queues an event that nobody waits for. Where there is no room, the oldest of these go. */
  tell(event: OutgoingEvent): void {
    if (this.#closing) return;
    this.#add(event, 'forget-oldest');
  }

  /**
   * Queues an event that gives way to none, and resolves once it is stored. UNAVAILABLE when others that are waited for leave no room;
   * after `deadlineMs` UNAVAILABLE if it was never sent, and DEADLINE_EXCEEDED if it may be stored all the same. It is not sent again then.
   * When the queue is closed, DRAINING in place of UNAVAILABLE.
   */
  async store(event: OutgoingEvent, deadlineMs: number): Promise<EventReceipt> {
    if (this.#closing) throw new FairleadError('DRAINING', 'this process stops, and tells no more events');
    const { maxQueued, maxQueuedBytes } = this.#options;
    const waitedFor = this.#queue.size - this.#notifications.size;
    const bytes = this.#bytes - this.#notificationBytes + Buffer.byteLength(event.body);
    if (waitedFor >= maxQueued || bytes > maxQueuedBytes) {
      throw new FairleadError('UNAVAILABLE', 'too many events wait for NATS already');
    }
    const queued = this.#add(event, 'refuse');
    const giveUp = (): void => this.#giveUp(queued, 'UNAVAILABLE', `was not stored within ${deadlineMs} ms`);
    const timer = setTimeout(giveUp, deadlineMs);
    return queued.stored.promise.finally(() => clearTimeout(timer));
  }

  /** NATS is back: the pause after a failure ends. */
  wake(): void {
    this.#loop.wake();
  }

  /** Takes nothing more, sends what it can in 2 s, and gives up the rest. Returns how many that were. */
  async close(): Promise<number> {
    const { promise: overOrLate, resolve } = Promise.withResolvers<void>();
    this.#closing = resolve;
    if (this.#queue.size > 0) {
      this.#loop.wake();
      const timer = setTimeout(resolve, CLOSE_MS);
      await overOrLate;
      clearTimeout(timer);
    }
    await this.#loop[Symbol.asyncDispose]();
    const lost = [...this.#queue];
    for (const queued of lost) this.#giveUp(queued, 'DRAINING', 'was not stored before this process stopped');
    return lost.length;
  }

  #add(event: OutgoingEvent, overflow: Overflow): Queued {
    const stored = Promise.withResolvers<EventReceipt>();
    const queued: Queued = { event, bytes: Buffer.byteLength(event.body), overflow, stored, maybeStored: false };
    this.#queue.add(queued);
    this.#bytes += queued.bytes;
    if (overflow === 'forget-oldest') {
      this.#notifications.add(queued);
      this.#notificationBytes += queued.bytes;
    }
    this.#shed();
    // What is added behind others goes with them: it must not end the pause after a failure.
    if (this.#queue.size === 1) this.#loop.wake();
    return queued;
  }

  #shed(): void {
    const { maxQueued, maxQueuedBytes, onDropped } = this.#options;
    for (const oldest of this.#notifications) {
      if (this.#queue.size <= maxQueued && this.#bytes <= maxQueuedBytes) return;
      this.#remove(oldest);
      this.dropped += 1;
      onDropped();
    }
  }

  #remove(queued: Queued): void {
    if (!this.#queue.delete(queued)) return;
    this.#bytes -= queued.bytes;
    if (this.#notifications.delete(queued)) this.#notificationBytes -= queued.bytes;
    if (this.#queue.size === 0) this.#closing?.();
  }

  #giveUp(queued: Queued, code: 'UNAVAILABLE' | 'DRAINING', why: string): void {
    this.#remove(queued);
    if (queued.overflow === 'forget-oldest') return;
    const { maybeStored, lastFailure, event } = queued;
    const [actualCode, rest] = maybeStored
      ? (['DEADLINE_EXCEEDED', 'as far as is known; it may be all the same'] as const)
      : ([code, 'and will not be'] as const);
    const message = `the event ${event.id} ${why}, ${rest}`;
    queued.stored.reject(new FairleadError(actualCode, message, { cause: lastFailure }));
  }

  async #sendBatch(signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(this.#nextBatch().map((queued) => this.#send(queued, signal)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    if (this.#queue.size > 0) this.#loop.wake();
  }

  #nextBatch(): Queued[] {
    const batch: Queued[] = [];
    let bytes = 0;
    for (const queued of this.#queue) {
      bytes += queued.bytes;
      if (batch.length === MAX_BATCH || (batch.length > 0 && bytes > MAX_BATCH_BYTES)) break;
      batch.push(queued);
    }
    return batch;
  }

  async #send(queued: Queued, signal: AbortSignal): Promise<void> {
    const before = queued.maybeStored;
    queued.maybeStored = true;
    try {
      const receipt = await this.#options.publish(queued.event, signal);
      this.#remove(queued);
      queued.stored.resolve(receipt);
    } catch (error) {
      if (toFairleadError(error).code === 'UNAVAILABLE') queued.maybeStored = before;
      queued.lastFailure = error;
      throw error;
    }
  }
}
