import { messageOf } from '@fairlead/errors';
import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { Counter, type Registry } from 'prom-client';
import type { Logger } from '../logger.js';

type ExportDone = Parameters<SpanExporter['export']>[1];

/** `ExportResultCode.FAILED`, which only a package below the exporter exports. */
const FAILED = 1;
/** A collector that is away for a day is not told of ten thousand times. */
const TELL_EVERY_MS = 60_000;
const MAX_REASON = 200;

/** The books of spans: how many run and wait, what became of the others, and one line a minute at most about those lost. */
export class Delivery {
  readonly #most: number;
  readonly #logger: Logger;
  readonly #outcomes: Counter;
  #running = 0;
  #waiting = 0;
  #onNoneRunning = (): void => undefined;
  #lost = { failed: 0, dropped: 0 };
  #toldAtMs = -Infinity;

  constructor(most: number, logger: Logger, registry: Registry) {
    this.#most = most;
    this.#logger = logger;
    this.#outcomes = new Counter({
      name: 'fairlead_tracing_spans_total',
      help: 'Spans that ended here, by what became of them: exported; failed: the collector did not take them; dropped: too many waited.',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  /** Ended, and neither taken by the collector nor given up. */
  get undelivered(): number {
    return this.#waiting;
  }

  /** Resolves when every span that began has ended. */
  noneRunning(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#running === 0) resolve();
      else this.#onNoneRunning = resolve;
    });
  }

  began(): void {
    this.#running += 1;
  }

  /** One ended. Whether there is room for it; if not, it is counted as dropped. */
  ended(): boolean {
    this.#running -= 1;
    if (this.#running === 0) this.#onNoneRunning();
    if (this.#waiting < this.#most) {
      this.#waiting += 1;
      return true;
    }
    this.#outcomes.inc({ outcome: 'dropped' });
    this.#lost.dropped += 1;
    this.#tell('too many spans wait to be sent');
    return false;
  }

  exported(spans: number): void {
    this.#waiting -= spans;
    this.#outcomes.inc({ outcome: 'exported' }, spans);
  }

  failed(spans: number, error: unknown): void {
    this.#waiting -= spans;
    this.#outcomes.inc({ outcome: 'failed' }, spans);
    this.#lost.failed += spans;
    // What the collector said in its answer's body is not in the message.
    this.#tell(messageOf(error).slice(0, MAX_REASON) || 'the collector did not take them');
  }

  #tell(reason: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#toldAtMs < TELL_EVERY_MS) return;
    this.#logger.warn('tracing.spans.lost', { ...this.#lost, reason });
    this.#toldAtMs = nowMs;
    this.#lost = { failed: 0, dropped: 0 };
  }
}

/** In front of the queue: what waits and what is under way together stay within the bound. */
export class BoundedProcessor implements SpanProcessor {
  readonly #next: SpanProcessor;
  readonly #delivery: Delivery;

  constructor(next: SpanProcessor, delivery: Delivery) {
    this.#next = next;
    this.#delivery = delivery;
  }

  onStart(span: Span, parentContext: Context): void {
    this.#delivery.began();
    this.#next.onStart(span, parentContext);
  }

  onEnd(span: ReadableSpan): void {
    if (this.#delivery.ended()) this.#next.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown();
  }
}

/** Behind the queue: each batch has an end in time, and is accounted for once. */
export class BoundedExporter implements SpanExporter {
  readonly #next: SpanExporter;
  readonly #delivery: Delivery;
  readonly #timeoutMs: number;

  constructor(next: SpanExporter, delivery: Delivery, timeoutMs: number) {
    this.#next = next;
    this.#delivery = delivery;
    this.#timeoutMs = timeoutMs;
  }

  export(spans: ReadableSpan[], done: ExportDone): void {
    let settled = false;
    const settle: ExportDone = (result) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      const code: number = result.code;
      if (code === FAILED) this.#delivery.failed(spans.length, result.error);
      else this.#delivery.exported(spans.length);
      done(result);
    };
    const late = (): void => settle({ code: FAILED, error: new Error('the collector did not answer in time') });
    const timer = setTimeout(late, this.#timeoutMs).unref();
    this.#next.export(spans, settle);
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown();
  }
}
