export { Actor, EVENTS } from './catalog.js';
export { Envelope, createEvent, eventSubject, type OutgoingEvent } from './envelope.js';
export { OUTBOX_TABLE_V1, OutboxRow, appendEvent, appendEventOnce } from './outbox.js';
export { OutboxRelay, type OutboxRelayOptions } from './outbox-relay.js';
export * from './publisher.js';
export { forgedRequestEvent, recordForgedRequest, type RecordForgedOptions } from './forged-request-event.js';
export { Projection, type ProjectedBucket, type ProjectionOptions } from './projection.js';
export { actorOf, commit, operatorOf, read, tell, type ServiceRuntime } from './service-runtime.js';
