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
import { followStream } from './follow-stream.js';
import { AUDIT_SOURCE } from './take-batch.js';
import type { Runtime } from './runtime.js';

export interface ReceivedEvent {
  readonly message: ConsumedMessage;
  /** Who tells it, as NATS vouches for: a service's role, a gateway's name. */
  readonly teller: string;
  readonly event: Envelope;
}

/** Null: it is no event, or says another tenant, type or teller than the subject, which NATS vouches for. */
export function readEvent(message: ConsumedMessage): ReceivedEvent | null {
  const read = Envelope.safeParse(parse(message.data));
  if (!read.success) return null;
  const event = read.data;
  const [, , tenantId, word = '', ...type] = message.subject.split('.');
  const honest =
    event.tenantid === tenantId && event.type === `dev.fairlead.${type.join('.')}` && isSource(event.source, word);
  return honest ? { message, teller: word.slice(word.indexOf(':') + 1), event } : null;
}

/** Whether the source of an event is who its subject names: `gateway:gateway-a` is one replica. In the stream are those, too, of the time before replicas named themselves; nobody may publish these any more. */
function isSource(source: string, word: string): boolean {
  const [role, replica] = word.split(':');
  return replica === undefined ? source.startsWith(`/fairlead/${role}/`) : source === `/fairlead/${role}/${replica}`;
}

/** In one transaction; of events that have the same id and teller, the first one counts, however much later another one comes. */
export async function takeEvents(
  runtime: Runtime,
  manager: EntityManager,
  received: readonly ReceivedEvent[],
): Promise<void> {
  const ids = received.map(({ teller, event }) => ({ source: teller, id: event.id.toLowerCase() }));
  const fresh = await takeNew(manager, ids, runtime.now());
  const messages = received.map(({ message }) => message);
  const about = await followStream(manager, messages, runtime.now());
  const entries: NewEntry[] = [];
  for (const { teller, event } of received) {
    // Of two with the same id in one go, the first.
    if (fresh.delete(`${teller} ${event.id.toLowerCase()}`)) entries.push(entryOfEvent(event, teller));
  }
  runtime.counts.repeated('events', received.length - entries.length);
  await addEntries(runtime, manager, [...about, ...entries]);
}

/** Of a message that no schema reads: who sent it, how long it was and what it hashed to. What it said is not kept. */
export async function takeUnreadable(
  runtime: Runtime,
  manager: EntityManager,
  stream: 'audit' | 'events',
  message: ConsumedMessage,
): Promise<void> {
  const { subject, data, sequence } = message;
  const sha256 = createHash('sha256').update(subject).update('\n').update(data).digest('hex');
  const source = `unreadable-${stream}`;
  // The same bytes once: whoever sends them again and again fills nothing.
  const fresh = await takeNew(manager, [{ source, id: uuidOf(sha256) }], runtime.now());
  const about = stream === 'events' ? await followStream(manager, [message], runtime.now()) : [];
  if (fresh.size === 0) return void (await addEntries(runtime, manager, about));
  const entry = ownEntry('unreadable', {
    tenantId: DEFAULT_TENANT,
    at: runtime.now(),
    source: AUDIT_SOURCE,
    action: `a message of ${subject.slice(0, 200)} cannot be read`,
    body: { stream, subject: subject.slice(0, 512), sequence, bytes: data.length, sha256 },
  });
  await addEntries(runtime, manager, [...about, entry]);
}

function uuidOf(sha256: string): string {
  return sha256.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
