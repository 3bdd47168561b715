import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import { AUDIT_STREAM, EVENT_STREAM, StreamConsumer, type ConsumedMessage } from '@fairlead/messaging';
import { inTransaction } from '@fairlead/persistence';
import type { NatsConnection } from '@nats-io/transport-node';
import { readBatch } from '../domain/read-batch.js';
import { takeBatch } from './take-batch.js';
import { readEvent, takeEvents, takeUnreadable, type ReceivedEvent } from './take-events.js';
import type { Runtime } from './runtime.js';

const RETRY = { baseMs: 200, capMs: 5_000 };
/** Short, so that little is handed out to a process that was killed while it waited. */
const WAIT_MS = 1_000;
/** What is handed out has to be taken before the server hands it out again. */
const AT_ONCE = { audit: { messages: 20, bytes: 4 * 1024 * 1024 }, events: { messages: 200, bytes: 2 * 1024 * 1024 } };
/** One that cannot be taken must not keep the others waiting. */
const AGAIN_MS = 2_000;

type StreamName = keyof typeof AT_ONCE;

/** Takes messages of one stream, until disposed of: into Postgres first, and acknowledged after the commit. */
export class Ingest implements AsyncDisposable {
  readonly #consumer: StreamConsumer;
  readonly #loop: RunLoop;

  constructor(
    private readonly runtime: Runtime,
    nats: NatsConnection,
    private readonly stream: StreamName,
  ) {
    this.#consumer = new StreamConsumer({
      nats,
      stream: stream === 'audit' ? AUDIT_STREAM : EVENT_STREAM,
      consumer: 'audit',
      subjects: `fairlead.${stream}.`,
    });
    this.#loop = new RunLoop({
      intervalMs: WAIT_MS,
      retry: RETRY,
      work: async () => this.#ingestOnce(),
      onFailed: (error, { repeated }) => {
        runtime.counts.failed(stream === 'audit' ? 'records' : 'events');
        runtime.logger.log(repeated ? 'debug' : 'warn', 'audit.ingest_delayed', { stream, reason: messageOf(error) });
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  async #ingestOnce(): Promise<number> {
    const messages = await this.#consumer.next({ ...AT_ONCE[this.stream], waitMs: WAIT_MS });
    if (this.stream === 'audit') await this.#takeRecords(messages);
    else await this.#takeEvents(messages);
    return 0;
  }

  /** One transaction for each. The first that fails for now takes those after it along: they are tried in order. */
  async #takeRecords(messages: readonly ConsumedMessage[]): Promise<void> {
    for (const [at, message] of messages.entries()) {
      try {
        await this.#takeRecord(message);
      } catch (error) {
        for (const left of isTransient(error) ? messages.slice(at) : [message]) left.again(AGAIN_MS);
        if (isTransient(error)) throw error;
        this.#complain(message, error);
      }
    }
  }

  async #takeRecord(message: ConsumedMessage): Promise<void> {
    const { runtime } = this;
    const [, , producer = ''] = message.subject.split('.');
    const batch = readBatch(message.data);
    if (!batch) return this.#takeUnreadable(message);
    await inTransaction(runtime.database, (manager) => takeBatch(runtime, manager, producer, batch));
    message.ack();
  }

  /** All that can be read in one transaction; where that fails for a reason of its own, one by one. */
  async #takeEvents(messages: readonly ConsumedMessage[]): Promise<void> {
    const readable: ReceivedEvent[] = [];
    try {
      for (const message of messages) {
        const event = readEvent(message);
        if (event) readable.push(event);
        else await this.#takeUnreadable(message);
      }
      await this.#takeTogether(readable);
    } catch (error) {
      if (isTransient(error)) {
        for (const message of messages) message.again(AGAIN_MS);
        throw error;
      }
      await this.#takeOneByOne(readable);
    }
  }

  async #takeTogether(received: readonly ReceivedEvent[]): Promise<void> {
    const { runtime } = this;
    if (received.length === 0) return;
    await inTransaction(runtime.database, (manager) => takeEvents(runtime, manager, received));
    for (const { message } of received) message.ack();
  }

  async #takeOneByOne(received: readonly ReceivedEvent[]): Promise<void> {
    for (const each of received) {
      await this.#takeTogether([each]).catch((error: unknown) => {
        each.message.again(AGAIN_MS);
        this.#complain(each.message, error);
      });
    }
  }

  async #takeUnreadable(message: ConsumedMessage): Promise<void> {
    const { runtime, stream } = this;
    await inTransaction(runtime.database, (manager) => takeUnreadable(runtime, manager, stream, message));
    runtime.counts.unreadable(stream);
    const { subject, sequence, data } = message;
    runtime.logger.warn('audit.unreadable', { stream, subject, sequence, bytes: data.length });
    message.end('no schema reads it');
  }

  /** It is kept in the stream and tried again: nothing of an audit is dropped because it cannot be taken. */
  #complain({ subject, sequence, deliveries }: ConsumedMessage, error: unknown): void {
    const { runtime, stream } = this;
    runtime.counts.failed(stream === 'audit' ? 'records' : 'events');
    runtime.logger.error('audit.not_taken', { stream, subject, sequence, deliveries, reason: messageOf(error) });
  }
}

/** The database is away, or did not confirm the commit: everything else would fail the same way. */
function isTransient(error: unknown): boolean {
  return error instanceof FairleadError && (error.code === 'UNAVAILABLE' || error.code === 'INTERNAL');
}
