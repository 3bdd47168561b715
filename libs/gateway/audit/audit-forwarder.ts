import type { AuditSpool, SpooledRecords } from '@fairlead/audit-spool';
import { MAX_AUDIT_BATCH, auditSubject } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import { AUDIT_STREAM, connectionState, whileConnected } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

export interface AuditForwarderOptions {
  readonly nc: NatsConnection;
  readonly spool: AuditSpool;
  /** Of this replica: its subject is named after it. */
  readonly credential: string;
  readonly logger: Logger;
  /** Told of records that JetStream has. */
  readonly onForwarded?: (records: number) => void;
}

const LIMITS = { records: MAX_AUDIT_BATCH, bytes: 512 * 1024 };
/** How long records are gathered; live readers wait as long. */
const GATHER_MS = 500;
/**
 * Between two full batches: 8,000 records a second at most. It is more than a gateway makes; and catching up after NATS was away neither takes its core from requests nor
 * floods whoever takes them over.
 */
const BETWEEN_BATCHES_MS = 25;
const RETRY = { baseMs: 500, capMs: 15_000 };
const PUBLISH_TIMEOUT_MS = 5_000;
/** A replica that stops sends what it still has, for so long: its disk may go with it. */
const LAST_MS = 3_000;

/**
 * Hands on what is in a spool to JetStream, one batch after the other, and gives up what that has. Whatever is wrong with NATS, it only waits: nobody
 * waits for it.
 */
export class AuditForwarder implements AsyncDisposable {
  readonly #options: AuditForwarderOptions;
  readonly #loop: RunLoop;

  constructor(options: AuditForwarderOptions) {
    this.#options = options;
    this.#loop = new RunLoop({
      work: async (signal) => ((await this.#forward(signal)) ? BETWEEN_BATCHES_MS : undefined),
      intervalMs: GATHER_MS,
      jitter: 0.5,
      retry: RETRY,
      onFailed: (error, { repeated }) => {
        if (!repeated) options.logger.warn('audit.not_forwarded', { reason: messageOf(error), err: error });
      },
    });
  }

  /** The spool takes no more. Sends what it can within a few seconds, and that this was all if it was; the rest stays in the spool. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { spool, logger } = this.#options;
    await this.#loop[Symbol.asyncDispose]();
    const signal = AbortSignal.timeout(LAST_MS);
    spool.end();
    await spool.flush().catch(() => undefined);
    try {
      await this.#forwardAll(signal);
      // Of a spool that has told nothing nobody knows.
      const firstSeq = spool.acknowledged + 1;
      if (spool.isDone && firstSeq > 1) await this.#publish({ firstSeq, records: [], ends: true }, signal);
    } catch (error) {
      logger.warn('audit.left_in_spool', { records: spool.records, reason: messageOf(error) });
    }
  }

  /** What was lost is counted, and becomes a record when there is room for it: with what was handed on. */
  async #forwardAll(signal: AbortSignal): Promise<void> {
    const { spool } = this.#options;
    do {
      while (await this.#forward(signal));
      await spool.flush().catch(() => undefined);
    } while (spool.hasDurable);
  }

  /** One batch. Returns whether there may be more already. */
  async #forward(signal: AbortSignal): Promise<boolean> {
    const { spool, onForwarded } = this.#options;
    // A sync is for many. What cannot be written must not keep back what was.
    if (!spool.hasDurable) await spool.flush().catch(() => undefined);
    const { firstSeq, records, isFull } = await spool.read(spool.acknowledged, LIMITS);
    if (records.length === 0) return false;
    await this.#publish({ firstSeq, records }, signal);
    await spool.acknowledge(firstSeq + records.length - 1);
    onForwarded?.(records.length);
    return isFull;
  }

  async #publish(batch: HandedOn, signal: AbortSignal): Promise<void> {
    const { nc, spool, credential } = this.#options;
    if (!connectionState(nc).connected) throw new FairleadError('UNAVAILABLE', 'NATS is away');
    const body = batchOf(spool.epoch, batch);
    // No message id: JetStream knows ids by the whole stream, so a batch is dropped whose id any other gateway used before. The audit service drops what comes twice.
    const options = { timeout: PUBLISH_TIMEOUT_MS, expect: { streamName: AUDIT_STREAM } };
    const answer = jetstream(nc).publish(auditSubject(credential), body, options);
    const { stream, duplicate } = await whileConnected(nc, answer, signal).catch((error: unknown) => {
      throw new FairleadError('UNAVAILABLE', `JetStream did not take audit records: ${messageOf(error)}`, {
        cause: error,
      });
    });
    // A duplicate is not stored, whatever it is said to repeat.
    if (stream === AUDIT_STREAM && !duplicate) return;
    throw new FairleadError(
      'PROTOCOL_ERROR',
      `the answer to audit records is no receipt of the stream ${AUDIT_STREAM}`,
    );
  }
}

interface HandedOn extends Pick<SpooledRecords, 'firstSeq' | 'records'> {
  /** As in `AuditBatch`. */
  readonly ends?: true;
}

const COMMA = Buffer.from(',');

/** Each of them is JSON already. */
function batchOf(epoch: string, { firstSeq, records, ends }: HandedOn): Buffer {
  const listed = records.flatMap((json, at) => (at === 0 ? [json] : [COMMA, json]));
  return Buffer.concat([
    Buffer.from(`{"epoch":"${epoch}","firstSeq":${firstSeq},"records":[`),
    ...listed,
    Buffer.from(ends ? '],"ends":true}' : ']}'),
  ]);
}
