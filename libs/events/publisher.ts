/** What a process without a database needs of this package; the rest of it loads one. */
export {
  createEventPublisher,
  type DurablyOptions,
  type EventPublisher,
  type EventPublisherOptions,
} from './event-publisher.js';
export type { EventReceipt } from './publish-event.js';
export type { EventInput, EventType } from './catalogue/events.js';
