import { IsoTime, tellerOf, type Caller } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';
import { EVENTS, type EventInput, type EventType } from './catalogue/events.js';

/** Before every type, and not in subjects. */
export const EVENT_TYPE_PREFIX = 'dev.fairlead.';
const MAX_EVENT_BYTES = 64 * 1024;

/** CloudEvents 1.0, structured JSON: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md */
export const Envelope = z.object({
  specversion: z.literal('1.0'),
  id: z.uuid(),
  /** `/fairlead/<role>/<credential>` of the process that tells it. */
  source: z.string(),
  type: z.string(),
  subject: z.string(),
  time: IsoTime,
  datacontenttype: z.literal('application/json'),
  /** Extension attribute. */
  tenantid: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type Envelope = z.infer<typeof Envelope>;

/** An event on its way: what a relay needs, and nothing to interpret. */
export interface OutgoingEvent {
  readonly id: string;
  readonly tenantId: string;
  /** NATS subject. */
  readonly subject: string;
  /** The envelope as JSON, at most 64 KiB. */
  readonly body: string;
}

/** `fairlead.events.<tenant>.<teller>.<type without prefix>`: `fairlead.events.default.keys.ca.created.v1`, `fairlead.events.default.gateway:gateway-a.agent.connected.v1`. */
export function eventSubject(tenantId: string, source: Caller, type: EventType): string {
  return `fairlead.events.${tenantId}.${tellerOf(source)}.${type.slice(EVENT_TYPE_PREFIX.length)}`;
}

/** Makes an event of the process `source`. Its id is a random UUID unless given. Throws INTERNAL if the data does not match the type's schema. */
export function createEvent<T extends EventType>(
  source: Caller,
  type: T,
  input: EventInput<T>,
  now: Date = new Date(),
  id: string = crypto.randomUUID(),
): OutgoingEvent {
  const data = EVENTS[type].safeParse(input);
  if (!data.success)
    throw new FairleadError('INTERNAL', `the event ${type} is not as its schema says`, { cause: data.error });
  const envelope: Envelope = {
    specversion: '1.0',
    id,
    source: `/fairlead/${source.role}/${source.credential}`,
    type,
    subject: data.data.subject,
    time: now.toISOString(),
    datacontenttype: 'application/json',
    tenantid: data.data.tenantId,
    data: data.data,
  };
  const body = JSON.stringify(envelope);
  if (Buffer.byteLength(body) > MAX_EVENT_BYTES) throw new FairleadError('INTERNAL', `the event ${type} is too large`);
  const { tenantId } = data.data;
  return { id: envelope.id, tenantId, subject: eventSubject(tenantId, source, type), body };
}
