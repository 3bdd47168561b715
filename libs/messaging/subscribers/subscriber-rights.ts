import { nextMessageSubject } from '../consumer/stream-consumer.js';
import { STREAMS_API } from '../kv/bucket-feed.js';
import { EVENT_STREAM } from '../server/provision-jetstream.js';

/** The account of whoever outside is told of events: no JetStream, and nobody else in it. */
export const SUBSCRIBERS_ACCOUNT = 'SUBSCRIBERS';

const CONSUMER_PREFIX = 'subscriber-';

/** The durable consumer of a subscriber on the stream of events. */
export function subscriberConsumer(subscriberId: string): string {
  return `${CONSUMER_PREFIX}${subscriberId}`;
}

/** Whose consumer it is; null: none of a subscriber. */
export function subscriberOfConsumer(consumer: string): string | null {
  return consumer.startsWith(CONSUMER_PREFIX) ? consumer.slice(CONSUMER_PREFIX.length) : null;
}

/**
 * Where a subscriber receives what it fetches: below its public key. All subscribers share an account, and NATS checks no permission on a reply
 * subject: so the prefix is one that no other subscriber can know.
 */
export function subscriberInboxPrefix(publicKey: string): string {
  return `_INBOX_${publicKey}`;
}

/** All that a subscriber may do: fetch and acknowledge its own messages, and look at its own consumer, as client libraries do first. */
export function subscriberPermissions(subscriberId: string, publicKey: string) {
  const consumer = subscriberConsumer(subscriberId);
  return {
    publish: [
      nextMessageSubject(EVENT_STREAM, consumer),
      `${STREAMS_API}.CONSUMER.INFO.${EVENT_STREAM}.${consumer}`,
      `$JS.ACK.${EVENT_STREAM}.${consumer}.>`,
    ],
    subscribe: [`${subscriberInboxPrefix(publicKey)}.>`],
  };
}
