import { EVENT_STREAM, type ConsumedMessage } from '@fairlead/messaging';
import type { EntityManager } from 'typeorm';
import { advance, type NumberRange, type Sequence } from '../domain/sequence.js';
import { STREAM_EPOCH, lockProducer, saveSequence } from '../store/producers.js';
import { announceFilled, toEveryLog } from './take-batch.js';
import type { NewEntry } from '../domain/entry.js';

/**
 * Notes which messages of the stream of events have come. It drops its oldest when it is full, taken or not: numbers that never came are announced like those of a gateway. Returns what
 * has to be said of those that came after all. A stream that was made anew counts from 1 again: nothing is found out then until its numbers are new.
 */
export async function followStream(
  manager: EntityManager,
  messages: readonly Pick<ConsumedMessage, 'sequence' | 'deliveries'>[],
  now: Date,
): Promise<readonly NewEntry[]> {
  const locked = await lockProducer(manager, EVENT_STREAM, STREAM_EPOCH, now);
  const numbers = messages.map(({ sequence }) => sequence).toSorted((one, other) => one - other);
  let sequence: Sequence = { mark: locked.mark, missing: locked.gaps.map(({ from, to }) => ({ from, to })) };
  // What comes again may be older than what was taken before anybody looked.
  if (locked.mark === 0) sequence = { mark: newestOf(messages), missing: [] };
  if (sequence.mark === 0) return [];
  const late: NumberRange[] = [];
  for (const number of numbers) {
    const advanced = advance(sequence, { from: number, to: number });
    late.push(...advanced.fresh);
    sequence = advanced.sequence;
  }
  await saveSequence(manager, locked, { ...sequence, ends: false }, now);
  const filled = announceFilled(locked, late, now);
  return filled.length > 0 ? toEveryLog(manager, filled) : [];
}

/** Of those that were never handed out before; 0: there are none. */
function newestOf(messages: Parameters<typeof followStream>[1]): number {
  return Math.max(0, ...messages.filter(({ deliveries }) => deliveries === 1).map(({ sequence }) => sequence));
}
