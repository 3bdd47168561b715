import { tellerOf, type Role } from '@fairlead/contracts';
import { EVENT_TYPE_PREFIX } from '../envelope.js';
import type { Channel, Schemas } from './compatibility.js';
import { EVENTS, type EventType } from './events.js';
import { exampleOf } from './example.js';
import { jsonSchemaOf, type JsonSchema } from './json-schema.js';
import { ABOUT_EVENTS } from './owners.js';

const ENVELOPE = 'cloudevent';

/** AsyncAPI 3.0, as far as it is used here: https://www.asyncapi.com/docs/reference/specification/v3.0.0 */
export interface AsyncApi {
  readonly channels: Readonly<Record<string, Channel>>;
  readonly components: { readonly schemas: Schemas; readonly messages: Readonly<Record<string, unknown>> };
  readonly [part: string]: unknown;
}

/** All types, sorted, so that documents change only where an event does. */
export function eventTypes(): EventType[] {
  return (Object.keys(EVENTS) as EventType[]).toSorted();
}

/** The schema of what each type of event has in `data`. */
export function schemasOfEvents(): Schemas {
  return Object.fromEntries(eventTypes().map((type) => [type, jsonSchemaOf(EVENTS[type])]));
}

/** The public description of all events: where they are, and what is in them. Its `components.schemas` is what readers can rely on. */
export function asyncApi(): AsyncApi {
  const types = eventTypes();
  const ofAll = <T>(make: (type: EventType) => T): Record<string, T> =>
    Object.fromEntries(types.map((type) => [type, make(type)]));
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Events of Fairlead',
      version: '1.0.0',
      description:
        'CloudEvents 1.0 in structured JSON, in the JetStream stream FAIRLEAD_EVENTS. The type carries its version: fields and values of enumerations may be added to it, anything else is the next version. A reader ignores what it does not know, and drops repetitions by id.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/cloudevents+json',
    channels: ofAll(channelOf),
    components: {
      messages: ofAll(messageOf),
      schemas: { ...schemasOfEvents(), [ENVELOPE]: envelopeSchema() },
    },
  };
}

function channelOf(type: EventType): Channel & Readonly<Record<string, unknown>> {
  const { owners } = ABOUT_EVENTS[type];
  return {
    address: `fairlead.events.{tenant}.{teller}.${type.slice(EVENT_TYPE_PREFIX.length)}`,
    description: ABOUT_EVENTS[type].means,
    parameters: {
      tenant: { description: 'The id of a tenant; _ for what belongs to none.' },
      teller: { description: 'Who tells it.', examples: owners.map(tellerWord) },
    },
    messages: { event: { $ref: pointer('components', 'messages', type) } },
  };
}

function tellerWord(role: Role): string {
  return tellerOf({ role, credential: role === 'gateway' ? 'gateway-a' : role });
}

function messageOf(type: EventType): unknown {
  const envelope = { $ref: pointer('components', 'schemas', ENVELOPE) };
  const data = { $ref: pointer('components', 'schemas', type) };
  return {
    name: type,
    summary: ABOUT_EVENTS[type].means,
    contentType: 'application/cloudevents+json',
    payload: { allOf: [envelope, { type: 'object', properties: { type: { const: type }, data } }] },
    examples: [{ payload: exampleOf(type) }],
  };
}

/** https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md; `tenantid` is an extension attribute. */
function envelopeSchema(): JsonSchema {
  const text = { type: 'string' };
  const properties = {
    specversion: { const: '1.0' },
    id: { type: 'string', format: 'uuid' },
    source: { type: 'string', description: '/fairlead/<role>/<name> of the process that tells it.' },
    type: text,
    subject: { type: 'string', description: 'What it happened to.' },
    time: { type: 'string', format: 'date-time' },
    datacontenttype: { const: 'application/json' },
    tenantid: text,
    data: { type: 'object' },
  };
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** A reference within the document (RFC 6901). */
function pointer(...path: string[]): string {
  return `#/${path.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
}
