import { DEFAULT_TENANT } from '@fairlead/contracts';
import { Envelope } from '@fairlead/events';
import type { ConsumedMessage } from '@fairlead/messaging';
import type { EntityManager } from 'typeorm';
import { createHash } from 'node:crypto';
import { ownEntry, type NewEntry } from '../domain/entry.js';
import { entryOfEvent } from './entry-of-event.js';
import { parse } from '../domain/read-batch.js';
import { takeNew } from '../store/inbox.js';
import { addEntries } from './add-entries.js';
import { AUDIT_SOURCE } from './take-batch.js';
import type { Runtime } from './runtime.js';

export interface ReceivedEvent {
  readonly message: ConsumedMessage;
  /** Who tells it, as NATS vouches for. */
  readonly role: string;
  readonly event: Envelope;
}

/** Null: it is no event, or says another tenant, type or teller than the subject, which NATS vouches for. */
export function readEvent(message: ConsumedMessage): ReceivedEvent | null {
  const read = Envelope.safeParse(parse(message.data));
  if (!read.success) return null;
  const event = read.data;
  const [, , tenantId, role = '', ...type] = message.subject.split('.');
  const honest =
    event.tenantid === tenantId &&
    event.type === `dev.fairlead.${type.join('.')}` &&
    event.source.startsWith(`/fairlead/${role}/`);
  return honest ? { message, role, event } : null;
}

/** In one transaction; of events that have the same id and teller, the first one counts, however much later another one comes. */
export async function takeEvents(
  runtime: Runtime,
  manager: EntityManager,
  received: readonly ReceivedEvent[],
): Promise<void> {
  const ids = received.map(({ role, event }) => ({ source: role, id: event.id.toLowerCase() }));
  const fresh = await takeNew(manager, ids, runtime.now());
  const entries: NewEntry[] = [];
  for (const { role, event } of received) {
    // Of two with the same id in one go, the first.
    if (fresh.delete(`${role} ${event.id.toLowerCase()}`)) entries.push(entryOfEvent(event, role));
  }
  runtime.counts.repeated('events', received.length - entries.length);
  await addEntries(runtime, manager, entries);
}

/** Of a message that no schema reads: who sent it, how long it was and what it hashed to. What it said is not kept. */
export async function takeUnreadable(
  runtime: Runtime,
  manager: EntityManager,
  stream: 'audit' | 'events',
  { subject, data, sequence }: ConsumedMessage,
): Promise<void> {
  const sha256 = createHash('sha256').update(subject).update('\n').update(data).digest('hex');
  const source = `unreadable-${stream}`;
  // The same bytes once: whoever sends them again and again fills nothing.
  const fresh = await takeNew(manager, [{ source, id: uuidOf(sha256) }], runtime.now());
  if (fresh.size === 0) return;
  const entry = ownEntry('unreadable', {
    tenantId: DEFAULT_TENANT,
    at: runtime.now(),
    source: AUDIT_SOURCE,
    action: `a message of ${subject.slice(0, 200)} cannot be read`,
    body: { stream, subject: subject.slice(0, 512), sequence, bytes: data.length, sha256 },
  });
  await addEntries(runtime, manager, [entry]);
}

function uuidOf(sha256: string): string {
  return sha256.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
