import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { MAX_LOST_NAMED, isPassage, type AuditRecord } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { Batch, type ReadLimits, type SpooledRecords } from './batch.js';
import { LostCount } from './lost-count.js';
import { openSegments } from './open-segments.js';
import { RecentRecords } from './recent-records.js';
import type { EncodableRecord } from './record-line.js';
import { roomFor, type Keep } from './room.js';
import { SegmentWriter } from './segment-writer.js';
import { lockSpool } from './spool-lock.js';
import { SpoolReader } from './spool-reader.js';
import { removeSegment } from './segments.js';
import { writeState } from './spool-state.js';

export interface AuditSpoolOptions {
  /** Of this process alone; made if it is not there. */
  readonly dir: string;
  /** Of all files together. */
  readonly maxBytes: number;
  readonly logger: Logger;
  /** Told how long each fsync took, in seconds. */
  readonly onSynced?: (seconds: number) => void;
}

/** What nobody waits for is gathered for so long before it is written, or until it is so much: each time costs as much as dozens of records. */
const GATHER_MS = 250;
const GATHER_BYTES = 256 * 1024;
/** The mark of what was acknowledged is written so often at most. */
const KEEP_STATE_MS = 1_000;
/** What was written last is kept in memory besides. */
const RECENT_BYTES = 2 * 1024 ** 2;
/** After the disk failed, until it is tried again. */
const RETRY_MS = 1_000;
/** Waiting in memory, if the disk is slow; beyond it only what is required is taken, up to twice as much. */
const MAX_QUEUED_BYTES = 8 * 1024 ** 2;
/** Reserved for the record of what was lost: an id has 36 characters, and three around it. */
const LOST_BYTES = 512 + 39 * MAX_LOST_NAMED;
/** Passages that are remembered until the next sync. */
const MAX_UNSYNCED = 10_000;
/** Of a line, beside the record. */
const FRAMING_BYTES = 24;

interface Waiting extends EncodableRecord {
  readonly durable?: PromiseWithResolvers<number>;
  /** The passage that it ends, if an intent of that may be on record. */
  readonly ends?: string;
}

/**
 * Audit records in files of one directory until somebody has taken them over. They are numbered in the order in which they are written, from 1, without a
 * hole, in an epoch that lasts as long as the directory does. What there is no room for is counted, and the count becomes a record as soon as there is.
 */
export class AuditSpool implements AsyncDisposable {
  readonly #options: AuditSpoolOptions;
  readonly #writer: SegmentWriter;
  readonly #reader: SpoolReader;
  readonly #recent = new RecentRecords(RECENT_BYTES);
  readonly #release: () => void;
  #acknowledged: number;
  /** The mark as it is on the disk, and when it was written. */
  #kept = { acknowledged: NaN, atMs: -Infinity };
  #queue: Waiting[] = [];
  #queuedBytes = 0;
  #flushes: PromiseWithResolvers<void>[] = [];
  /** Passages whose outcome was written and not synced yet. */
  #unsynced: string[] = [];
  readonly #lost = new LostCount();
  #lostEver = 0;
  #failure: string | null = null;
  #gathering: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #state: 'open' | 'ended' | 'closed' = 'open';

  private constructor(
    options: AuditSpoolOptions,
    opened: { readonly writer: SegmentWriter; readonly acknowledged: number; readonly release: () => void },
  ) {
    this.#options = options;
    this.#writer = opened.writer;
    this.#acknowledged = opened.acknowledged;
    this.#release = opened.release;
    this.#reader = new SpoolReader(options.logger);
  }

  /** Takes the directory and goes on where it was left. ALREADY_EXISTS while another process has it; UNAVAILABLE if it cannot be written to. */
  static async open(options: AuditSpoolOptions): Promise<AuditSpool> {
    const { dir, logger } = options;
    await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw new FairleadError('UNAVAILABLE', `the audit spool ${dir} cannot be made`, { cause: error });
    });
    const release = await lockSpool(dir);
    try {
      const opened = await openSegments(dir, () => randomBytes(16).toString('hex'), logger);
      const writer = await SegmentWriter.open({ ...opened, ...options });
      const spool = new AuditSpool(options, { writer, acknowledged: opened.acknowledged, release });
      await spool.#keepState();
      return spool;
    } catch (error) {
      release();
      throw error;
    }
  }

  get epoch(): string {
    return this.#writer.epoch;
  }

  /** Not acknowledged yet, those that wait to be written included. */
  get records(): number {
    return this.#writer.writtenSeq - this.#acknowledged + this.#queue.length;
  }

  get bytes(): number {
    return this.#writer.bytes + this.#queuedBytes;
  }

  /** Since this process began. */
  get lost(): number {
    return this.#lostEver;
  }

  /** Whether there is something to read already, before anything is flushed. */
  get hasDurable(): boolean {
    return this.#writer.durableSeq > this.#acknowledged;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Why nothing can be written now; null if it can. */
  get failure(): string | null {
    return this.#failure;
  }

  /**
   * Takes a record without waiting; false if there is no room for it, and it was counted. `begun`: of the passage that it ends an intent may be on record. If it is lost, now or later, the count
   * says which passage that was.
   */
  append(record: AuditRecord, keep: Keep = 'best-effort', begun = false): boolean {
    const encodable = encodableOf(record);
    const waiting: Waiting = begun && isPassage(record) ? { ...encodable, ends: record.id } : encodable;
    const why = this.#whyNot(encodable, keep);
    if (why !== null) {
      this.#lose(1, why, endedBy([waiting]));
      return false;
    }
    this.#gather(waiting);
    return true;
  }

  /** Takes a record without waiting if there is room for it now. Otherwise nothing is counted: it stays with whoever offers it. */
  offer(record: AuditRecord): boolean {
    const encodable = encodableOf(record);
    if (this.#whyNot(encodable, 'best-effort') !== null) return false;
    this.#gather(encodable);
    return true;
  }

  /** Resolves with the number of the record once it would outlast the loss of power. UNAVAILABLE, saying why: it is not on record. */
  async appendDurably(record: AuditRecord, keep: Exclude<Keep, 'best-effort'> = 'required'): Promise<number> {
    const encodable = encodableOf(record);
    const why = this.#whyNot(encodable, keep);
    if (why !== null) throw new FairleadError('UNAVAILABLE', why);
    const durable = Promise.withResolvers<number>();
    this.#put({ ...encodable, durable });
    this.#go();
    return durable.promise;
  }

  /** Resolves once all that was taken before is durable. UNAVAILABLE. */
  async flush(): Promise<void> {
    if (this.#failure !== null) throw new FairleadError('UNAVAILABLE', this.#failure);
    if (this.#queue.length === 0 && this.#writer.durableSeq === this.#writer.writtenSeq && !this.#running) return;
    const flushed = Promise.withResolvers<void>();
    this.#flushes.push(flushed);
    this.#go();
    await flushed.promise;
  }

  /** What follows this number and is durable, so that no number is ever given to two records that anybody saw. */
  async read(afterSeq: number, limits: ReadLimits): Promise<SpooledRecords> {
    const { segments, durableSeq } = this.#writer;
    const batch = new Batch(afterSeq + 1, limits);
    this.#recent.addTo(batch, durableSeq);
    if (batch.records.length === 0) await this.#reader.addTo(batch, [...segments], durableSeq);
    return { firstSeq: afterSeq + 1, records: batch.records, isFull: batch.isFull };
  }

  /** All up to this number have been taken over: they need not be kept. */
  async acknowledge(seq: number): Promise<void> {
    if (seq > this.#writer.durableSeq) {
      throw new FairleadError('INVALID_ARGUMENT', `the spool has no record ${seq} to acknowledge`);
    }
    if (seq <= this.#acknowledged) return;
    this.#acknowledged = seq;
    this.#recent.forgetUpTo(seq);
    const ended = this.#writer.forgetUpTo(seq);
    if (ended.length > 0 || performance.now() - this.#kept.atMs >= KEEP_STATE_MS) await this.#keepState();
    for (const segment of ended) await removeSegment(segment);
    if (this.#lost.count > 0) this.#go();
  }

  /** Takes no more records. What it has is read and acknowledged as before. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
  }

  /** Ended, and somebody has taken over all that it ever took; nothing was lost that no record tells of. */
  get isDone(): boolean {
    return this.#state === 'ended' && this.#failure === null && this.records === 0 && this.#lost.count === 0;
  }

  /** Writes what it has and gives the directory back. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === 'closed') return;
    await this.flush().catch(() => undefined);
    this.#state = 'closed';
    clearTimeout(this.#gathering);
    await this.#running;
    if (this.#kept.acknowledged !== this.#acknowledged) await this.#keepState();
    await this.#writer.close();
    this.#release();
  }

  /** The mark is a saving, not a promise: without it, records are sent again. */
  async #keepState(): Promise<void> {
    const { dir, logger } = this.#options;
    const acknowledged = this.#acknowledged;
    this.#kept = { acknowledged, atMs: performance.now() };
    await writeState(dir, { epoch: this.epoch, acknowledged }).catch((error: unknown) => {
      this.#kept = { acknowledged: NaN, atMs: -Infinity };
      logger.warn('audit.spool.mark_not_kept', { dir, err: error });
    });
  }

  #whyNot({ jsonBytes }: EncodableRecord, keep: Keep): string | null {
    if (this.#state !== 'open') return 'the audit spool is closed';
    if (this.#failure !== null) return this.#failure;
    if (this.#queuedBytes > MAX_QUEUED_BYTES * (keep === 'best-effort' ? 1 : 2)) {
      return 'the disk of the audit spool is too slow for what it has to hold';
    }
    const { maxBytes } = this.#options;
    if (this.bytes + jsonBytes + FRAMING_BYTES + LOST_BYTES <= roomFor(keep, maxBytes)) return null;
    return `the audit spool is full (${maxBytes} bytes): nobody has taken over what is in it`;
  }

  /** Nobody waits for it. */
  #gather(waiting: Waiting): void {
    this.#put(waiting);
    if (this.#queuedBytes >= GATHER_BYTES) this.#go();
    else this.#gathering ??= setTimeout(() => this.#go(), GATHER_MS).unref();
  }

  #put(waiting: Waiting): void {
    this.#queue.push(waiting);
    this.#queuedBytes += waiting.jsonBytes + FRAMING_BYTES;
  }

  #lose(count: number, why: string, passages: readonly string[] = []): void {
    this.#lost.add(count, why, passages);
    this.#lostEver += count;
  }

  #go(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#hasWork && this.#failure === null) this.#go();
    });
  }

  get #hasWork(): boolean {
    return this.#queue.length > 0 || this.#flushes.length > 0 || (this.#lost.count > 0 && this.#hasRoomForLost);
  }

  get #hasRoomForLost(): boolean {
    return this.bytes + LOST_BYTES <= roomFor('required', this.#options.maxBytes);
  }

  async #run(): Promise<void> {
    while (this.#hasWork && this.#failure === null) await this.#writeGroup();
  }

  /** Writes all that waits, and syncs it once if anybody waits for that; the next group gathers meanwhile. */
  async #writeGroup(): Promise<void> {
    const group = this.#queue;
    const flushes = this.#flushes;
    const bytes = this.#queuedBytes;
    this.#queue = [];
    this.#flushes = [];
    const lost = this.#lost.count > 0 && this.#hasRoomForLost ? this.#lost.take() : undefined;
    let written = 0;
    try {
      const before = lost ? [encodableOf(lost)] : [];
      const { firstSeq, lines } = await this.#writer.write([...before, ...group]);
      this.#recent.add(firstSeq, lines);
      this.#queuedBytes -= bytes;
      written = before.length + group.length;
      if (flushes.length > 0 || group.some(({ durable }) => durable)) await this.#sync();
      else this.#unsynced.push(...endedBy(group).slice(0, MAX_UNSYNCED - this.#unsynced.length));
      for (const [at, { durable }] of group.entries()) durable?.resolve(firstSeq + before.length + at);
      for (const flushed of flushes) flushed.resolve();
    } catch (error) {
      this.#queuedBytes = this.#queue.reduce((sum, { jsonBytes }) => sum + jsonBytes + FRAMING_BYTES, 0);
      if (lost) this.#lost.add(lost.count, lost.why, lost.passages);
      this.#failed(error, { group, written }, flushes);
    }
  }

  async #sync(): Promise<void> {
    const began = performance.now();
    await this.#writer.sync();
    this.#unsynced = [];
    this.#options.onSynced?.((performance.now() - began) / 1_000);
  }

  /** Nothing of the group can be relied on, of which so much was `written`: who waits is told, and the rest is counted. */
  #failed(
    error: unknown,
    { group, written }: { readonly group: readonly Waiting[]; readonly written: number },
    flushes: readonly PromiseWithResolvers<void>[],
  ): void {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    const why = `the audit spool cannot be written to (${code})`;
    this.#options.logger.error('audit.spool.failed', { dir: this.#options.dir, reason: why, err: error });
    this.#recent.clear();
    // What was written before and never synced is gone as well, but was on no promise.
    const gone = Math.max(0, this.#writer.takeBack() - written);
    this.#lose(gone, why, gone > 0 ? this.#unsynced : []);
    if (gone > 0) this.#unsynced = [];
    this.#queue = [...group, ...this.#queue];
    this.#flushes = [...flushes, ...this.#flushes];
    this.#failAll(why);
    setTimeout(() => this.#tryAgain(), RETRY_MS).unref();
  }

  #failAll(why: string): void {
    this.#failure = why;
    const failure = new FairleadError('UNAVAILABLE', why);
    for (const { durable } of this.#queue) durable?.reject(failure);
    const unpromised = this.#queue.filter(({ durable }) => !durable);
    this.#lose(unpromised.length, why, endedBy(unpromised));
    for (const flushed of this.#flushes) flushed.reject(failure);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#flushes = [];
  }

  #tryAgain(): void {
    if (this.#state === 'closed') return;
    this.#failure = null;
    if (this.#lost.count > 0) this.#go();
  }
}

function encodableOf(record: AuditRecord): EncodableRecord {
  const json = JSON.stringify(record);
  return { json, jsonBytes: Buffer.byteLength(json) };
}

function endedBy(records: readonly Pick<Waiting, 'ends'>[]): string[] {
  return records.flatMap(({ ends }) => ends ?? []);
}
